#include "app/record_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/json.h"
#include "results/metric_name.h"
#include "results/statistics.h"
#include "results/table.h"

namespace reprise::app {
namespace {

using results::Record;

// The label that the experiment gives the record's method; "" if it gives none.
std::string method_label(const Record& record) {
  return text_of(record.settings.resolved, "method_label");
}

bool varies(const std::vector<Record>& records, const std::string& key) {
  std::set<std::string> values;
  for (const Record& record : records) values.insert(setting_text(record, key));
  return values.size() > 1;
}

}  // namespace

std::string cell_text(const Value& value) {
  return value.is_text() ? value.text() : json_text(value);
}

std::string setting_text(const Record& record, const std::string& key) {
  if (const std::string label = method_label(record); key == "method" && !label.empty())
    return label;
  return cell_text(record.requested(key));
}

std::vector<std::string> key_columns(const std::vector<Record>& records,
                                     const results::Manifest& manifest) {
  std::vector<std::string> keys;
  for (const std::string key : {"model", "weights", "dtype", "weight_format"})
    if (varies(records, key)) keys.push_back(key);
  for (const auto& [axis, values] : manifest.settings.axes)
    if (varies(records, axis)) keys.push_back(axis);
  keys.emplace_back("method");
  const bool are_labelled = std::none_of(records.begin(), records.end(), [](const Record& record) {
    return method_label(record).empty();
  });
  if (!are_labelled && varies(records, "method_options")) keys.emplace_back("method_options");
  return keys;
}

std::vector<std::string> all_metrics(const results::ResultsFolder& folder) {
  std::vector<std::string> names = folder.run.metrics;
  for (const Record& record : folder.records)
    for (const auto& [name, metric] : record.metrics)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

std::string heading_of(const std::vector<Record>& records, const std::string& name) {
  const std::string metric = results::split_metric_name(name).metric;
  for (const Record& record : records)
    if (record.metrics.contains(metric)) return heading_in(record, name);
  return name;
}

std::string heading_in(const Record& record, const std::string& name) {
  const std::string metric = results::split_metric_name(name).metric;
  const std::string& unit = record.metrics.at(metric).unit;
  const bool is_in_name = metric == unit || metric.ends_with("_" + unit) || unit == "ratio" ||
                          unit == "tokens/s" || metric.ends_with("_gflop_s") ||
                          metric.ends_with("_gb_s");
  return is_in_name || unit.empty() ? name : name + " [" + unit + "]";
}

bool is_starred(const results::Metric& metric) {
  return results::is_noisy(metric) || metric.disturbed.has_value();
}

std::string metric_text(const Record& record, const std::string& name, bool has_spread) {
  if (results::has_too_few_samples(record.metrics, name)) return "too few";
  const auto metric = results::shown_metric(record.metrics, name);
  if (!metric) return "-";
  const double number = metric->value;
  if (!metric->spread) {
    const bool is_count = metric->unit != "ratio" && std::trunc(number) == number;
    return is_count && number < 1e6 ? fmt::format("{:.0f}", number) : results::short_number(number);
  }
  std::string text = results::short_number(number);
  if (has_spread)
    text += fmt::format(" ({} to {})", results::short_number(metric->spread->q1),
                        results::short_number(metric->spread->q3));
  return text + (is_starred(*metric) ? " *" : "");
}

}  // namespace reprise::app
