#include "results/run_validity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace reprise::results {
namespace {

std::string reasons_of(const Fields& answers) {
  std::vector<std::string> texts;
  if (const Value& reasons = field_of(answers, "reasons"); reasons.is_list())
    for (const Value& reason : reasons.list())
      if (reason.is_text()) texts.push_back(reason.text());
  return texts.empty() ? "no reason is given" : fmt::format("{}", fmt::join(texts, "; "));
}

RunValidity validity_in(const Fields& answers) {
  const Value& verdict = field_of(answers, "verdict");
  if (!verdict.is_text()) return {};
  if (verdict.text() == "VALID") return {.is_judged = true};
  return {.is_judged = true, .is_valid = false, .reason = reasons_of(answers)};
}

}  // namespace

RunValidity run_validity(const Record& record) { return validity_in(record.answers); }

std::string invalid_remark(const Fields& answers) {
  const RunValidity validity = validity_in(answers);
  return validity.is_valid ? "" : "INVALID: " + validity.reason;
}

}  // namespace reprise::results
