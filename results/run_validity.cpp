#include "results/run_validity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace reprise::results {
namespace {

std::vector<std::string> texts_of(const Fields& answers, const std::string& name) {
  std::vector<std::string> texts;
  if (const Value& list = field_of(answers, name); list.is_list())
    for (const Value& text : list.list())
      if (text.is_text()) texts.push_back(text.text());
  return texts;
}

std::string reasons_of(const Fields& answers) {
  const std::vector<std::string> texts = texts_of(answers, "reasons");
  return texts.empty() ? "no reason is given" : fmt::format("{}", fmt::join(texts, "; "));
}

RunValidity validity_in(const Fields& answers) {
  const Value& verdict = field_of(answers, "verdict");
  if (!verdict.is_text()) return {};
  if (verdict.text() == "VALID")
    return {.is_judged = true, .reservations = texts_of(answers, "reservations")};
  return {.is_judged = true, .is_valid = false, .reason = reasons_of(answers)};
}

}  // namespace

RunValidity run_validity(const Record& record) { return validity_in(record.answers); }

std::vector<std::string> run_reservations(const Fields& answers) {
  return validity_in(answers).reservations;
}

std::string invalid_remark(const Fields& answers) {
  const RunValidity validity = validity_in(answers);
  return validity.is_valid ? "" : "INVALID: " + validity.reason;
}

std::string invalid_speedup_remark(const Record& record, std::span<const Record> records) {
  if (record.group.index == 0 || !record.metrics.contains("throughput_speedup") ||
      !run_validity(record).is_valid)
    return "";
  const auto first = std::find_if(records.begin(), records.end(), [&](const Record& other) {
    return other.group.index == 0 && other.group.id == record.group.id;
  });
  if (first == records.end() || run_validity(*first).is_valid) return "";
  return "INVALID throughput_speedup: the first method's run is INVALID: " +
         run_validity(*first).reason;
}

bool is_valid_metric(const Record& record, const std::string& metric,
                     std::span<const Record> records) {
  return run_validity(record).is_valid &&
         (metric != "throughput_speedup" || invalid_speedup_remark(record, records).empty());
}

}  // namespace reprise::results
