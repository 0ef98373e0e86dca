#include "core/base/problems.h"

#include <algorithm>
#include <utility>

namespace reprise {
namespace {

std::string listed(const std::vector<std::string>& problems) {
  constexpr size_t kMost = 50;
  std::string text = fmt::format("{} problems:", problems.size());
  for (size_t i = 0; i < std::min(kMost, problems.size()); ++i) text += "\n- " + problems[i];
  if (problems.size() > kMost) text += fmt::format("\n- and {} more", problems.size() - kMost);
  return text;
}

}  // namespace

ProblemsError::ProblemsError(std::vector<std::string> problems)
    : Error(listed(problems)), problems_(std::move(problems)) {}

void Problems::add(const std::string& problem) {
  if (std::find(list_.begin(), list_.end(), problem) == list_.end()) list_.push_back(problem);
}

void Problems::raise_if_any() const {
  if (list_.empty()) return;
  if (list_.size() == 1) throw Error(list_.front());
  throw ProblemsError(list_);
}

}  // namespace reprise
