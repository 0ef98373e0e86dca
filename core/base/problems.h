// Several errors told at once, so that a user does not find them one run at a time.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"

namespace reprise {

// What several things are wrong with; its text lists all of them.
class ProblemsError : public Error {
 public:
  explicit ProblemsError(std::vector<std::string> problems);
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> problems_;
};

class Problems {
 public:
  // Runs `step`, and keeps the Error that it throws.
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
  // Each is kept once.
  void add(const std::string& problem);
  [[nodiscard]] const std::vector<std::string>& list() const { return list_; }
  // One is thrown as the Error it is, several as a ProblemsError.
  void raise_if_any() const;

 private:
  std::vector<std::string> list_;
};

}  // namespace reprise
