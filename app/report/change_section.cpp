#include "app/report/change_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "app/record_columns.h"
#include "app/report/data_table.h"
#include "results/metric_name.h"
#include "results/statistics.h"
#include "results/table.h"

namespace reprise::app {
namespace {

constexpr ChangeVerdict kVerdicts[] = {ChangeVerdict::kWorse,     ChangeVerdict::kBetter,
                                       ChangeVerdict::kChanged,   ChangeVerdict::kSame,
                                       ChangeVerdict::kUndecided, ChangeVerdict::kUntested,
                                       ChangeVerdict::kInvalid};

std::string mark_of(ChangeVerdict verdict) {
  if (verdict == ChangeVerdict::kWorse || verdict == ChangeVerdict::kInvalid) return "bad";
  return verdict == ChangeVerdict::kBetter ? "good" : "";
}

std::string ratio_of_text(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:.3f}", ratio) : "-";
}

std::string interval_text(const MetricChange& change) {
  if (!change.has_interval) return "";
  if (!std::isfinite(change.high) || change.low == 0) return "too few samples";
  return fmt::format("{:.3f} to {:.3f}", change.low, change.high);
}

DataCell value_cell(const Json& record, const std::string& metric) {
  const Json found = results::shown_metric(record["metrics"], metric);
  return {.text = metric_text(record, metric, /*has_spread=*/false),
          .number = found["value"].get<double>()};
}

// Of both folders, so that no column is missing that only one sweeps.
std::vector<std::string> keys_of_both(const Reported& before, const Reported& after) {
  std::vector<std::string> keys = before.keys;
  for (const std::string& key : after.keys)
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.insert(keys.begin(), key);
  return keys;
}

std::vector<DataCell> row_of(const MetricChange& change, const std::vector<std::string>& keys) {
  std::vector<DataCell> row;
  for (const std::string& key : keys) {
    const Json value = (*change.after)["settings"]["requested"].value(key, Json());
    row.push_back({.text = setting_text(*change.after, key)});
    if (value.is_number()) row.back().number = value.get<double>();
  }
  row.push_back({.text = heading_in(*change.after, change.metric)});
  row.push_back(value_cell(*change.before, change.metric));
  row.push_back(value_cell(*change.after, change.metric));
  row.push_back({.text = ratio_of_text(change.ratio)});
  if (std::isfinite(change.ratio)) row.back().number = change.ratio;
  row.push_back({.text = interval_text(change)});
  row.push_back({.text = name_of(change.verdict), .mark = mark_of(change.verdict)});
  return row;
}

DataTable changes_table(const Changes& changes, const std::vector<std::string>& keys,
                        const std::string& id) {
  DataTable table{.id = id + "-changes", .caption = "Point by point", .columns = {}, .rows = {}};
  for (const std::string& key : keys) table.columns.push_back({.heading = key});
  table.columns.push_back({.heading = "metric"});
  for (const char* heading : {"before", "after", "ratio"})
    table.columns.push_back({.heading = heading, .is_number = true});
  table.columns.push_back({.heading = "interval of the ratio"});
  table.columns.push_back({.heading = "verdict"});
  // What became worse is read first.
  std::vector<const MetricChange*> ordered;
  for (const MetricChange& change : changes.metrics) ordered.push_back(&change);
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) {
    return (a->verdict == ChangeVerdict::kWorse) > (b->verdict == ChangeVerdict::kWorse);
  });
  for (const MetricChange* change : ordered) table.rows.push_back(row_of(*change, keys));
  return table;
}

// Of the comparisons of one method's metric.
struct Tally {
  std::map<ChangeVerdict, int64_t> verdicts;
  std::vector<double> ratios;
};

std::string range_text(const std::vector<double>& ratios) {
  if (ratios.empty()) return "-";
  const results::Summary summary = results::summarize(ratios);
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", summary.median, summary.min, summary.max);
}

using Tallies = std::map<std::pair<std::string, std::string>, Tally>;  // by method and metric

Tallies tallies_of(const Changes& changes) {
  Tallies tallies;
  for (const MetricChange& change : changes.metrics) {
    Tally& tally = tallies[{setting_text(*change.after, "method"), change.metric}];
    ++tally.verdicts[change.verdict];
    if (std::isfinite(change.ratio)) tally.ratios.push_back(change.ratio);
  }
  return tallies;
}

int64_t count_of(const Changes& changes, ChangeVerdict verdict) {
  return std::count_if(changes.metrics.begin(), changes.metrics.end(),
                       [&](const MetricChange& change) { return change.verdict == verdict; });
}

DataTable tally_table(const Changes& changes, const std::string& id) {
  DataTable table{.id = id + "-tally",
                  .caption = "By method and metric",
                  .columns = {{.heading = "method"},
                              {.heading = "metric"},
                              {.heading = "median ratio (range over points)"}},
                  .rows = {}};
  std::vector<ChangeVerdict> given;
  for (const ChangeVerdict verdict : kVerdicts)
    if (count_of(changes, verdict) > 0) given.push_back(verdict);
  for (const ChangeVerdict verdict : given)
    table.columns.push_back({.heading = name_of(verdict), .is_number = true});
  for (auto& [name, tally] : tallies_of(changes)) {
    std::vector<DataCell> row = {
        {.text = name.first}, {.text = name.second}, {.text = range_text(tally.ratios)}};
    for (const ChangeVerdict verdict : given) {
      const auto found = tally.verdicts.find(verdict);
      const int64_t count = found == tally.verdicts.end() ? 0 : found->second;
      row.push_back({.text = std::to_string(count),
                     .number = static_cast<double>(count),
                     .mark = count > 0 ? mark_of(verdict) : ""});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string method_text(const Changes& changes, const checks::ChangeOptions& options) {
  return fmt::format(
      "Ratios are after over before, of medians. {} of the {} comparisons have samples on both "
      "sides: the rank-sum test's intervals of their ratio hold all at once with {:.3g} % "
      "confidence, more than {} samples standing as the medians of {} batches. Better and worse "
      "need the whole interval beyond {:.3g} %, and the ratio beyond what neighbouring samples of "
      "one run differ by; same needs it within.",
      changes.tested, changes.metrics.size(), 100 * (1 - options.false_alarm),
      checks::kMostCompared, checks::kMostCompared, 100 * options.margin);
}

void write_counts(Html& html, const Changes& changes) {
  html.open("p", {{"class", "badges"}});
  for (const ChangeVerdict verdict : kVerdicts)
    if (const int64_t count = count_of(changes, verdict); count > 0)
      html.element("span", fmt::format("{} {}", count, name_of(verdict)),
                   {{"class", "badge " + mark_of(verdict)}})
          .text(" ");
  html.close();
}

}  // namespace

void write_changes(Html& html, const Reported& before, const Reported& after,
                   const checks::ChangeOptions& options) {
  const Changes changes = changes_between(before.folder, after.folder, options);
  const std::string id = before.id + "-" + after.id;
  html.open("section", {{"id", id}}).element("h2", "What changed: " + after.name());
  html.open("p").text("Before: ").element("code", before.folder.source).text(". After: ");
  html.element("code", after.folder.source).text(".").close();
  html.element("p", fmt::format("{} points are in both, {} only before, {} only after.",
                                changes.points, changes.only_before, changes.only_after));
  write_counts(html, changes);
  html.open("ul");
  for (const std::string& sentence : changes.differences) html.element("li", sentence);
  if (changes.differences.empty())
    html.element("li", "Settings, code, machine and files are the same.");
  html.close();
  write_table(html, tally_table(changes, id), "");
  write_table(html, changes_table(changes, keys_of_both(before, after), id),
              "The two folders have the rest.");
  html.element("p", method_text(changes, options), {{"class", "note"}});
  html.close();
}

}  // namespace reprise::app
