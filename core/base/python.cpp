#include "core/base/python.h"

#include <atomic>
#include <cstdlib>

#include "core/base/child_process.h"
#include "core/base/error.h"

namespace reprise {
namespace {

// Returns the output of one line of Python run by `python`. Throws Error as run_child() does.
std::string answer_of(const std::string& python, const std::string& line) {
  const std::atomic<bool> goes_on = false;
  return run_child({python, "-c", line}, goes_on).out;
}

// True if `python` imports the library and computes a product. Exit status 0 is not enough, since a
// program that is not Python may exit with 0.
bool can_import(const std::string& python, const std::string& library) {
  try {
    return answer_of(python, "import " + library + "; print(7 * 191)").starts_with("1337");
  } catch (const Error&) {
    return false;
  }
}

std::string named_python() {
  const char* named = std::getenv("REPRISE_PYTHON");
  return named == nullptr ? "" : named;
}

}  // namespace

void check_named_python(const PythonLibrary& library) {
  const std::string python = named_python();
  if (python.empty()) return;
  const std::string remedy = fmt::format(
      "Set it to a Python that has {} (package {}), such as /usr/bin/python3, or unset it",
      library.name, library.package);
  std::string version;
  try {
    version = answer_of(python, "import sys; print(7 * 191, sys.version)");
  } catch (const Error& error) {
    raise("REPRISE_PYTHON is \"{}\", which is no Python: {}. {}.", python, error.what(), remedy);
  }
  if (!version.starts_with("1337 "))
    raise(
        "REPRISE_PYTHON is \"{}\", which is no Python: asked for its version it printed \"{}\". "
        "{}.",
        python, version.substr(0, 80), remedy);
  if (!can_import(python, library.name))
    raise("REPRISE_PYTHON is \"{}\", a Python that cannot import {}. {}.", python, library.name,
          remedy);
}

std::optional<std::string> find_python(const PythonLibrary& library) {
  check_named_python(library);
  if (std::string named = named_python(); !named.empty()) return named;
  for (const char* python : {"python3", "/usr/bin/python3"})
    if (can_import(python, library.name)) return python;
  return std::nullopt;
}

}  // namespace reprise
