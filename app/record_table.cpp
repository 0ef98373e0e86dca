#include "app/record_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "results/metric_name.h"
#include "results/paper_numbers.h"
#include "results/record.h"
#include "results/statistics.h"
#include "results/table.h"

namespace reprise::app {
namespace {

using results::short_number;
using results::Table;

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool varies(const std::vector<Json>& records, const std::string& key) {
  std::set<std::string> values;
  for (const Json& record : records)
    values.insert(text_of(record["settings"]["requested"].value(key, Json())));
  return values.size() > 1;
}

// What tells the rows apart, the method last.
std::vector<std::string> key_columns(const std::vector<Json>& records, const Json& manifest) {
  std::vector<std::string> keys;
  for (const std::string key : {"model", "dtype"})
    if (varies(records, key)) keys.push_back(key);
  for (const auto& [axis, values] : manifest["settings"]["axes"].items())
    if (varies(records, axis)) keys.push_back(axis);
  keys.emplace_back("method");
  if (varies(records, "method_options")) keys.emplace_back("method_options");
  return keys;
}

bool is_starred(const Json& metric) {
  return results::is_noisy(metric) || results::is_disturbed(metric);
}

std::string metric_text(const Json& record, const std::string& name) {
  if (results::has_too_few_samples(record["metrics"], name)) return "too few";
  const Json metric = results::shown_metric(record["metrics"], name);
  if (metric.is_null()) return "-";
  const double number = metric["value"].get<double>();
  if (!metric.contains("q1")) {
    const bool is_count = metric["unit"] != "ratio" && std::trunc(number) == number;
    return is_count && number < 1e6 ? fmt::format("{:.0f}", number) : short_number(number);
  }
  const std::string value = short_number(number);
  return fmt::format("{} ({} to {}){}", value, short_number(metric["q1"].get<double>()),
                     short_number(metric["q3"].get<double>()), is_starred(metric) ? " *" : "");
}

// A line for each record whose method is not as exact as it promises, with what tells its row
// apart.
std::string inexact_lines(const std::vector<Json>& records, const std::vector<std::string>& keys) {
  std::string text;
  for (const Json& record : records) {
    const std::string remark = results::inexact_remark(record["metrics"]);
    if (remark.empty()) continue;
    std::vector<std::string> row;
    for (const std::string& key : keys)
      row.push_back(text_of(record["settings"]["requested"].value(key, Json())));
    text += fmt::format("{} ({})\n", remark, fmt::join(row, " "));
  }
  return text;
}

// A line for each percentile that some of the records have too few samples for.
std::string too_few_lines(const std::vector<Json>& records,
                          const std::vector<std::string>& metrics) {
  std::string text;
  for (const std::string& name : metrics) {
    const auto few = std::count_if(records.begin(), records.end(), [&](const Json& record) {
      return results::has_too_few_samples(record["metrics"], name);
    });
    for (const results::Percentile& percentile : results::kPercentiles)
      if (few > 0 && results::split_metric_name(name).percentile == percentile.name)
        text += fmt::format(
            "too few: {} takes {} samples, {} of {} points have fewer (more with --set "
            "repetitions=N)\n",
            name, percentile.least_samples(), few, records.size());
  }
  return text;
}

// Under the table: what the star means, and how many shares of a limit cannot be.
std::string footnotes(const std::vector<Json>& records, const std::vector<std::string>& metrics) {
  bool has_noise = false;
  int above_one = 0;
  for (const Json& record : records)
    for (const std::string& name : metrics) {
      const auto metric = record["metrics"].find(name);
      if (metric == record["metrics"].end()) continue;
      has_noise = has_noise || is_starred(*metric);
      above_one += name.ends_with("_limit_ratio") && (*metric)["value"].get<double>() > 1 ? 1 : 0;
    }
  std::string text = too_few_lines(records, metrics);
  if (has_noise)
    text += fmt::format(
        "* noisy: the quartiles lie more than {:.0f} % of the median apart, or other programs took "
        "the "
        "cores\n",
        100 * results::kNoisyShare);
  if (above_one > 0)
    text += fmt::format(
        "{} shares of the machine's limit are above 1: it was busy when its limits were "
        "measured (--fresh measures again)\n",
        above_one);
  return text;
}

// Of the metrics shown, those the paper gives for at least one of the records.
std::set<std::string> metrics_of_paper(const Json& points) {
  std::set<std::string> names;
  for (const auto& [point, metrics] : points.items())
    for (const auto& [name, metric] : metrics.items()) names.insert(name);
  return names;
}

std::string paper_text(const Json& points, const Json& record, const std::string& name) {
  const auto point = points.find(record["point"].get<std::string>());
  if (point == points.end() || !point->contains(name)) return "-";
  return short_number((*point)[name]["value"].get<double>());
}

std::string paper_note(const results::PaperNumbers& paper, bool is_shown) {
  if (!paper.missing().empty())
    return fmt::format(
        "the paper's numbers are in {} below the folder that REPRISE_DATA names, which is not "
        "there\n",
        paper.missing());
  return is_shown ? fmt::format("paper: {}\n", paper.caption()) : "";
}

std::string heading_of(const std::vector<Json>& records, const std::string& name) {
  const std::string metric = results::split_metric_name(name).metric;
  for (const Json& record : records)
    if (record["metrics"].contains(metric)) {
      const std::string unit = record["metrics"][metric]["unit"];
      const bool is_in_name = metric == unit || metric.ends_with("_" + unit) || unit == "ratio" ||
                              unit == "tokens/s" || metric.ends_with("_gflop_s") ||
                              metric.ends_with("_gb_s");
      return is_in_name ? name : name + " [" + unit + "]";
    }
  return name;
}

}  // namespace

std::string left_out_note(const Json& manifest) {
  std::map<std::string, std::string> methods;  // by the reason
  for (const Json& left_out : manifest.value("left_out", Json::array())) {
    std::string& names = methods[left_out["reason"].get<std::string>()];
    names += (names.empty() ? "" : ", ") + left_out["method"].get<std::string>();
  }
  std::string text;
  for (const auto& [reason, names] : methods)
    text += fmt::format("left out: {}. {}\n", names, reason);
  return text;
}

std::string skipped_note(const std::vector<Json>& skipped) {
  constexpr size_t kMostLines = 12;
  std::map<std::string, int> points;  // by group
  for (const Json& point : skipped) ++points[point.value("group", "")];
  std::set<std::string> told;
  std::string text;
  for (const Json& point : skipped) {
    const std::string group = point.value("group", "");
    if (told.size() == kMostLines || !told.insert(group).second) continue;
    text += fmt::format("skipped: {} ({} point{}): {}\n", point.value("label", ""), points[group],
                        points[group] == 1 ? "" : "s", point.value("reason", ""));
  }
  if (points.size() > told.size())
    text += fmt::format("skipped: {} more groups, {} points in all; skipped.json lists them\n",
                        points.size() - told.size(), skipped.size());
  return text;
}

std::string record_table(const std::vector<Json>& records, const Json& manifest) {
  const std::vector<std::string> keys = key_columns(records, manifest);
  Table table;
  for (const std::string& key : keys)
    table.column(key, manifest["settings"]["axes"].contains(key) ? Table::Align::kRight
                                                                 : Table::Align::kLeft);
  const auto metrics = manifest["metrics"].get<std::vector<std::string>>();
  const results::PaperNumbers paper = results::paper_numbers_of(manifest);
  const Json points = results::paper_points(paper, records)["points"];
  const std::set<std::string> of_paper = metrics_of_paper(points);
  for (const std::string& name : metrics) {
    table.column(heading_of(records, name), Table::Align::kRight);
    if (of_paper.contains(name)) table.column("paper", Table::Align::kRight);
  }
  for (const Json& record : records) {
    std::vector<std::string> cells;
    for (const std::string& key : keys)
      cells.push_back(text_of(record["settings"]["requested"].value(key, Json())));
    for (const std::string& name : metrics) {
      cells.push_back(metric_text(record, name));
      if (of_paper.contains(name)) cells.push_back(paper_text(points, record, name));
    }
    table.row(std::move(cells));
  }
  return table.text() + inexact_lines(records, keys) + footnotes(records, metrics) +
         left_out_note(manifest) + paper_note(paper, !of_paper.empty());
}

}  // namespace reprise::app
