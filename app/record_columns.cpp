#include "app/record_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "results/metric_name.h"
#include "results/statistics.h"
#include "results/table.h"

namespace reprise::app {
namespace {

// The label that the experiment gives the record's method; "" if it gives none.
std::string method_label(const Json& record) {
  const Json label =
      record["settings"].value("resolved", Json::object()).value("method_label", Json());
  return label.is_string() ? label.get<std::string>() : "";
}

bool varies(const std::vector<Json>& records, const std::string& key) {
  std::set<std::string> values;
  for (const Json& record : records) values.insert(setting_text(record, key));
  return values.size() > 1;
}

}  // namespace

std::string cell_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string setting_text(const Json& record, const std::string& key) {
  if (const std::string label = method_label(record); key == "method" && !label.empty())
    return label;
  return cell_text(record["settings"]["requested"].value(key, Json()));
}

std::vector<std::string> key_columns(const std::vector<Json>& records, const Json& manifest) {
  std::vector<std::string> keys;
  for (const std::string key : {"model", "dtype", "weight_format"})
    if (varies(records, key)) keys.push_back(key);
  for (const auto& [axis, values] : manifest["settings"]["axes"].items())
    if (varies(records, axis)) keys.push_back(axis);
  keys.emplace_back("method");
  const bool are_labelled = std::none_of(records.begin(), records.end(), [](const Json& record) {
    return method_label(record).empty();
  });
  if (!are_labelled && varies(records, "method_options")) keys.emplace_back("method_options");
  return keys;
}

std::vector<std::string> all_metrics(const results::ResultsFolder& folder) {
  auto names = folder.run["metrics"].get<std::vector<std::string>>();
  for (const Json& record : folder.records)
    for (const auto& [name, metric] : record["metrics"].items())
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

std::string heading_of(const std::vector<Json>& records, const std::string& name) {
  const std::string metric = results::split_metric_name(name).metric;
  for (const Json& record : records)
    if (record["metrics"].contains(metric)) return heading_in(record, name);
  return name;
}

std::string heading_in(const Json& record, const std::string& name) {
  const std::string metric = results::split_metric_name(name).metric;
  const std::string unit = record["metrics"][metric]["unit"];
  const bool is_in_name = metric == unit || metric.ends_with("_" + unit) || unit == "ratio" ||
                          unit == "tokens/s" || metric.ends_with("_gflop_s") ||
                          metric.ends_with("_gb_s");
  return is_in_name || unit.empty() ? name : name + " [" + unit + "]";
}

bool is_starred(const Json& metric) {
  return results::is_noisy(metric) || results::is_disturbed(metric);
}

std::string metric_text(const Json& record, const std::string& name, bool has_spread) {
  if (results::has_too_few_samples(record["metrics"], name)) return "too few";
  const Json metric = results::shown_metric(record["metrics"], name);
  if (metric.is_null()) return "-";
  const double number = metric["value"].get<double>();
  if (!metric.contains("q1")) {
    const bool is_count = metric["unit"] != "ratio" && std::trunc(number) == number;
    return is_count && number < 1e6 ? fmt::format("{:.0f}", number) : results::short_number(number);
  }
  std::string text = results::short_number(number);
  if (has_spread)
    text += fmt::format(" ({} to {})", results::short_number(metric["q1"].get<double>()),
                        results::short_number(metric["q3"].get<double>()));
  return text + (is_starred(metric) ? " *" : "");
}

Json paper_value(const Json& paper, const Json& record, const std::string& name) {
  const auto point = paper["points"].find(record.value("point", ""));
  if (point == paper["points"].end() || !point->contains(name)) return {};
  return (*point)[name]["value"];
}

bool paper_has(const Json& paper, const std::string& name) {
  for (const auto& [point, metrics] : paper["points"].items())
    if (metrics.contains(name)) return true;
  return false;
}

}  // namespace reprise::app
