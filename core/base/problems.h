// Collects several errors and reports them at once, so that a user need not find them one run at a
// time.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"

namespace reprise {

// Thrown for several problems at once. The text lists them.
class ProblemsError : public Error {
 public:
  explicit ProblemsError(std::vector<std::string> problems);
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> problems_;
};

class Problems {
 public:
  // Runs `step`. If it throws Error, keeps the error's text and returns.
  template <typename Step>
  void collect(Step&& step) {
    try {
      step();
    } catch (const ProblemsError& error) {
      for (const std::string& problem : error.problems()) add(problem);
    } catch (const Error& error) {
      add(error.what());
    }
  }
  // Keeps a problem. A text that was added before is not kept again.
  void add(const std::string& problem);
  [[nodiscard]] const std::vector<std::string>& list() const { return list_; }
  // Returns if no problem was kept. Throws Error for one problem and ProblemsError for several.
  void raise_if_any() const;

 private:
  std::vector<std::string> list_;
};

}  // namespace reprise
