#include "results/run_validity.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace reprise::results {
namespace {

std::string reasons_of(const Json& judgement) {
  std::vector<std::string> texts;
  if (const auto reasons = judgement.find("reasons"); reasons != judgement.end())
    for (const Json& reason : *reasons)
      if (reason.is_string()) texts.push_back(reason.get<std::string>());
  return texts.empty() ? "no reason is given" : fmt::format("{}", fmt::join(texts, "; "));
}

RunValidity validity_in(const Json& answers) {
  if (!answers.is_object()) return {};
  const Json verdict = answers.value("verdict", Json());
  if (!verdict.is_string()) return {};
  if (verdict == "VALID") return {.is_judged = true};
  return {.is_judged = true, .is_valid = false, .reason = reasons_of(answers)};
}

}  // namespace

RunValidity run_validity(const Json& record) {
  return validity_in(record.value("answers", Json::object()));
}

std::string invalid_remark(const Json& answers) {
  const RunValidity validity = validity_in(answers);
  return validity.is_valid ? "" : "INVALID: " + validity.reason;
}

}  // namespace reprise::results
