// Chooses the Python that the program uses.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace reprise::testing {

// Sets REPRISE_PYTHON while this lives; nullptr: unsets it.
class NamedPython {
 public:
  explicit NamedPython(const char* python) {
    if (const char* old = std::getenv("REPRISE_PYTHON")) old_ = old;
    set(python);
  }
  ~NamedPython() { set(old_ ? old_->c_str() : nullptr); }
  NamedPython(const NamedPython&) = delete;
  NamedPython& operator=(const NamedPython&) = delete;

 private:
  static void set(const char* python) {
    if (python == nullptr)
      ::unsetenv("REPRISE_PYTHON");
    else
      ::setenv("REPRISE_PYTHON", python, 1);
  }

  std::optional<std::string> old_;
};

}  // namespace reprise::testing
