#include "app/report/metrics_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "app/record_columns.h"
#include "results/metric_name.h"
#include "results/record.h"
#include "results/run_validity.h"
#include "results/statistics.h"
#include "results/table.h"

namespace reprise::app {
namespace {

using results::short_number;
using Names = std::vector<std::string>;

bool holds(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// In any record, or with too few samples in one.
bool is_measured(const std::vector<Json>& records, const std::string& name) {
  return std::any_of(records.begin(), records.end(), [&](const Json& record) {
    return !results::shown_metric(record["metrics"], name).is_null() ||
           results::has_too_few_samples(record["metrics"], name);
  });
}

// All that are not the experiment's own: other metrics, and the tails of each.
Names extra_metrics(const results::ResultsFolder& folder, const Names& own) {
  Names extra;
  for (const std::string& name : all_metrics(folder)) {
    if (!holds(own, name) && is_measured(folder.records, name)) extra.push_back(name);
    for (const results::Percentile& percentile : results::kPercentiles) {
      const std::string tail = name + "." + percentile.name;
      const bool is_there =
          std::any_of(folder.records.begin(), folder.records.end(), [&](const Json& record) {
            return !results::shown_metric(record["metrics"], tail).is_null();
          });
      if (is_there && percentile.share > 0.5 && !holds(own, tail)) extra.push_back(tail);
    }
  }
  return extra;
}

// "1.19 to 1.22": quartiles, or how sure one is of a percentile.
std::string spread_text(const Json& record, const std::string& name) {
  const results::MetricName wanted = results::split_metric_name(name);
  const Json& metric = record["metrics"][wanted.metric];
  Json low = metric.value("q1", Json()), high = metric.value("q3", Json());
  if (wanted.names_percentile) {
    const Json intervals = metric.value("intervals", Json::object());
    const Json interval =
        intervals.is_object() ? intervals.value(wanted.percentile, Json()) : Json();
    low = interval.is_object() ? interval.value("low", Json()) : Json();
    high = interval.is_object() ? interval.value("high", Json()) : Json();
  }
  if (!low.is_number() || !high.is_number()) return "";
  return fmt::format("{} to {}", short_number(low.get<double>()), short_number(high.get<double>()));
}

DataCell metric_cell(const Json& record, const std::string& name) {
  DataCell cell{.text = metric_text(record, name, /*has_spread=*/false)};
  const Json metric = results::shown_metric(record["metrics"], name);
  if (metric.is_null()) return cell;
  cell.number = metric["value"].get<double>();
  cell.detail = spread_text(record, name);
  return cell;
}

DataCell setting_cell(const Json& record, const std::string& key) {
  const Json value = record["settings"]["requested"].value(key, Json());
  DataCell cell{.text = setting_text(record, key)};
  if (value.is_number()) cell.number = value.get<double>();
  return cell;
}

std::string help_of(const Reported& report, const std::string& name) {
  const auto found = report.help.find(results::split_metric_name(name).metric);
  return found == report.help.end() ? "" : found->second;
}

void add_key_columns(const Reported& report, DataTable& table) {
  for (const std::string& key : report.keys) {
    const Json value = report.folder.records.front()["settings"]["requested"].value(key, Json());
    table.columns.push_back({.heading = key, .is_number = value.is_number()});
  }
}

void add_key_cells(const Reported& report, const Json& record, std::vector<DataCell>& row) {
  for (const std::string& key : report.keys) row.push_back(setting_cell(record, key));
}

void add_metric_columns(const Reported& report, const Names& names, bool is_extra,
                        DataTable& table) {
  for (const std::string& name : names) {
    table.columns.push_back({.heading = heading_of(report.folder.records, name),
                             .help = help_of(report, name),
                             .is_number = true,
                             .is_extra = is_extra});
    for (const Json& paper : report.papers)
      if (paper_has(paper, name))
        table.columns.push_back({.heading = paper["label"],
                                 .help = paper["source"].get<std::string>() + ", on " +
                                         paper["hardware"].get<std::string>(),
                                 .is_number = true,
                                 .is_extra = is_extra});
  }
}

void add_metric_cells(const Reported& report, const Json& record, const Names& names,
                      std::vector<DataCell>& row) {
  for (const std::string& name : names) {
    row.push_back(metric_cell(record, name));
    for (const Json& paper : report.papers) {
      if (!paper_has(paper, name)) continue;
      const Json value = paper_value(paper, record, name);
      row.push_back({.text = "-"});
      if (value.is_null()) continue;
      row.back() = {.text = short_number(value.get<double>()), .number = value.get<double>()};
    }
  }
}

// Names of answers that are texts or numbers, in the order they are met.
Names answer_names(const std::vector<Json>& records) {
  Names names;
  for (const Json& record : records)
    for (const auto& [name, value] : record["answers"].items())
      if (value.is_primitive() && !holds(names, name)) names.push_back(name);
  return names;
}

DataCell answer_cell(const Json& value) {
  if (value.is_null()) return {.text = "-"};
  if (!value.is_number_float()) return {.text = cell_text(value)};
  return {.text = short_number(value.get<double>()), .number = value.get<double>()};
}

DataCell mark_cell(const Json& record) {
  const bool counts =
      results::run_validity(record).is_valid && results::inexact_remark(record["metrics"]).empty();
  return {.text = marks_of(record), .mark = counts ? "warn" : "bad"};
}

}  // namespace

std::string marks_of(const Json& record) {
  std::string marks;
  const auto add = [&](bool is_so, const char* mark) {
    if (is_so) marks += (marks.empty() ? "" : ", ") + std::string(mark);
  };
  add(!results::run_validity(record).is_valid, "INVALID");
  add(!results::inexact_remark(record["metrics"]).empty(), "NOT EXACT");
  add(std::any_of(record["metrics"].begin(), record["metrics"].end(), results::is_disturbed),
      "other programs");
  return marks;
}

DataTable metrics_table(const Reported& report) {
  const std::vector<Json>& records = report.folder.records;
  DataTable table{
      .id = report.id + "-metrics", .caption = "Every point", .columns = {}, .rows = {}};
  Names own, absent;
  for (const auto& name : report.folder.run["metrics"].get<Names>())
    (is_measured(records, name) ? own : absent).push_back(name);
  const Names extra = extra_metrics(report.folder, own);
  if (!absent.empty()) table.caption += fmt::format(". No record has {}", fmt::join(absent, ", "));
  const bool has_marks = std::any_of(records.begin(), records.end(),
                                     [](const Json& record) { return !marks_of(record).empty(); });
  add_key_columns(report, table);
  if (has_marks) table.columns.push_back({.heading = "marks"});
  add_metric_columns(report, own, /*is_extra=*/false, table);
  add_metric_columns(report, extra, /*is_extra=*/true, table);
  for (const Json& record : records) {
    std::vector<DataCell> row;
    add_key_cells(report, record, row);
    if (has_marks) row.push_back(mark_cell(record));
    add_metric_cells(report, record, own, row);
    add_metric_cells(report, record, extra, row);
    table.rows.push_back(std::move(row));
  }
  return table;
}

DataTable answers_table(const Reported& report) {
  const Names names = answer_names(report.folder.records);
  DataTable table{.id = report.id + "-answers",
                  .caption = "What came out beside the metrics",
                  .columns = {},
                  .rows = {}};
  if (names.empty()) return table;
  add_key_columns(report, table);
  for (const std::string& name : names) table.columns.push_back({.heading = name});
  for (const Json& record : report.folder.records) {
    std::vector<DataCell> row;
    add_key_cells(report, record, row);
    for (const std::string& name : names)
      row.push_back(answer_cell(record["answers"].value(name, Json())));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace reprise::app
