#include "results/metric.h"

#include <fmt/format.h>

#include <utility>

namespace reprise::results {
namespace {

using Named = std::pair<const char*, double>;

// Describes the first pair of numbers that do not ascend, a frequent fault of edits by hand.
std::string order_fault(const std::string& name, const std::vector<Named>& ascending) {
  for (size_t i = 1; i < ascending.size(); ++i)
    if (ascending[i - 1].second > ascending[i].second)
      return fmt::format("{} of metric {} is {}, above its {}, {}", ascending[i - 1].first, name,
                         ascending[i - 1].second, ascending[i].first, ascending[i].second);
  return "";
}

std::vector<Named> percentiles_of(const Metric& metric) {
  std::vector<Named> found;
  for (const Percentile& percentile : kPercentiles)
    if (const auto one = metric.percentiles.find(percentile.name); one != metric.percentiles.end())
      found.emplace_back(percentile.name, one->second);
  return found;
}

std::string spread_fault(const std::string& name, const Metric& metric) {
  const std::vector<Named> tails = percentiles_of(metric);
  if (std::string fault = order_fault(name, tails); !fault.empty()) return fault;
  if (!metric.spread) return "";
  const Spread& spread = *metric.spread;
  if (std::string fault =
          order_fault(name, {{"q1", spread.q1}, {"value", metric.value}, {"q3", spread.q3}});
      !fault.empty())
    return fault;
  const auto is_inside = [&](double number) {
    return spread.min <= number && number <= spread.max;
  };
  if (!is_inside(metric.value)) return fmt::format("metric {} lies outside its own range", name);
  std::vector<Named> inner = {{"q1", spread.q1}, {"q3", spread.q3}};
  inner.insert(inner.end(), tails.begin(), tails.end());
  for (const auto& [what, number] : inner)
    if (!is_inside(number))
      return fmt::format("{} of metric {} lies outside its range", what, name);
  return "";
}

std::string interval_fault(const std::string& what, const Interval& interval) {
  return interval.low <= interval.high ? "" : fmt::format("{} ends before it begins", what);
}

std::string confidence_fault(const std::string& name, const Metric& metric) {
  const std::string where = fmt::format("metrics.{}.", name);
  if (metric.interval)
    if (std::string fault = interval_fault(where + "interval", *metric.interval); !fault.empty())
      return fault;
  for (const auto& [percentile, interval] : metric.intervals)
    if (std::string fault = interval_fault(where + "intervals." + percentile, interval);
        !fault.empty())
      return fault;
  return "";
}

// Returns the fault of a unit that contradicts the unit at the end of the metric's name, such as
// "_ms".
std::string unit_fault(const std::string& name, const std::string& unit) {
  for (const auto& [ending, wanted] : {std::pair{"_ms", "ms"}, std::pair{"_us", "us"},
                                       std::pair{"_mb", "MB"}, std::pair{"_bytes", "bytes"}})
    if (name.ends_with(ending) && unit != wanted)
      return fmt::format("metrics.{}.unit must be \"{}\", as the name says, found \"{}\"", name,
                         wanted, unit);
  return "";
}

}  // namespace

const Metric* find_metric(const Metrics& metrics, const std::string& name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? nullptr : &found->second;
}

std::string metric_fault(const std::string& name, const Metric& metric) {
  if (std::string fault = unit_fault(name, metric.unit); !fault.empty()) return fault;
  if (metric.value < 0 && !metric.is_signed)
    return fmt::format("metric {} is negative: {}", name, metric.value);
  if (std::string fault = confidence_fault(name, metric); !fault.empty()) return fault;
  return spread_fault(name, metric);
}

}  // namespace reprise::results
