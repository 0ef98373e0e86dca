#include "results/better.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "results/metric_name.h"

namespace reprise::results {
namespace {

template <size_t n>
bool is_one_of(std::string_view text, const std::array<std::string_view, n>& those) {
  return std::find(those.begin(), those.end(), text) != those.end();
}

template <size_t n>
bool holds_one_of(std::string_view text, const std::array<std::string_view, n>& those) {
  return std::any_of(those.begin(), those.end(), [text](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

// True for the names of values that the machine, the model's shape or the load determines, and not
// the method.
bool is_given(std::string_view name) {
  return name.starts_with("beside_") || name.starts_with("offered_") ||
         holds_one_of(name, std::to_array<std::string_view>({"theory", "bound_", "_limit_ms"})) ||
         is_one_of(name, std::to_array<std::string_view>({"duration_s"}));
}

}  // namespace

Better better_of(const std::string& name, const std::string& unit) {
  const std::string metric = split_metric_name(name).metric;
  if (is_given(metric)) return Better::kUnknown;
  if (holds_one_of(metric, std::to_array<std::string_view>({"_kl", "over_limit"})) ||
      is_one_of(metric, std::to_array<std::string_view>({"errors", "preemptions", "unexplained",
                                                         "score_loss", "speedup_degradation"})))
    return Better::kLower;
  if (holds_one_of(metric,
                   std::to_array<std::string_view>({"speedup", "score", "accuracy", "goodput",
                                                    "same_text", "same_tokens", "equal_token",
                                                    "top_1", "_limit_ratio", "_beside_ratio"})))
    return Better::kHigher;
  if (is_one_of(unit, std::to_array<std::string_view>(
                          {"ns", "us", "ms", "s", "s/token", "bytes", "MB", "GB", "MiB", "GiB"})))
    return Better::kLower;
  return unit.ends_with("/s") ? Better::kHigher : Better::kUnknown;
}

}  // namespace reprise::results
