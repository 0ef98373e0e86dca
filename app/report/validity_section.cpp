#include "app/report/validity_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/record_columns.h"
#include "app/record_table.h"
#include "app/report/data_table.h"
#include "results/identity.h"
#include "results/record.h"
#include "results/run_validity.h"
#include "results/statistics.h"

namespace reprise::app {
namespace {

// Counts of a folder's points.
struct Marked {
  int64_t judged = 0, invalid = 0, inexact = 0, noisy = 0, disturbed = 0;
  size_t missing = 0;
};

bool has_metric(const Json& record, bool (*is_so)(const Json&)) {
  return std::any_of(record["metrics"].begin(), record["metrics"].end(), is_so);
}

Marked marked(const Reported& report) {
  Marked counts;
  for (const Json& record : report.folder.records) {
    const results::RunValidity validity = results::run_validity(record);
    counts.judged += validity.is_judged ? 1 : 0;
    counts.invalid += validity.is_valid ? 0 : 1;
    counts.inexact += results::inexact_remark(record["metrics"]).empty() ? 0 : 1;
    counts.noisy += has_metric(record, results::is_noisy) ? 1 : 0;
    counts.disturbed += has_metric(record, results::is_disturbed) ? 1 : 0;
  }
  for (const results::MissingPoints& place : results::missing_points(report.folder))
    counts.missing += place.methods.size();
  return counts;
}

DataTable refused_table(const Reported& report) {
  DataTable table{.id = report.id + "-refused",
                  .caption = "Points that do not count, or less than they promise",
                  .columns = {{.heading = "point"}, {.heading = "mark"}, {.heading = "reason"}},
                  .rows = {}};
  const auto add = [&](const Json& record, const std::string& mark, const std::string& reason) {
    table.rows.push_back({{.text = point_text(record, report.keys)},
                          {.text = mark, .mark = "bad"},
                          {.text = reason}});
  };
  for (const Json& record : report.folder.records) {
    if (const results::RunValidity validity = results::run_validity(record); !validity.is_valid)
      add(record, "INVALID", validity.reason);
    if (const std::string remark = results::inexact_remark(record["metrics"]); !remark.empty())
      add(record, "NOT EXACT", remark);
  }
  return table;
}

DataTable remarks_table(const Reported& report) {
  DataTable table{.id = report.id + "-remarks",
                  .caption = "Remarks of the records",
                  .columns = {{.heading = "point"}, {.heading = "remark"}},
                  .rows = {}};
  for (const Json& record : report.folder.records) {
    const Json remarks = record.value("remarks", Json::array());
    if (!remarks.is_array()) continue;
    for (const Json& remark : remarks)
      table.rows.push_back(
          {{.text = point_text(record, report.keys)}, {.text = cell_text(remark)}});
  }
  return table;
}

// "latency_us at 3 of 96 points, ttft_ms at 1".
std::string noisy_text(const Reported& report) {
  std::string text;
  const std::vector<Json>& records = report.folder.records;
  for (const std::string& name : all_metrics(report.folder)) {
    const auto noisy = std::count_if(records.begin(), records.end(), [&](const Json& record) {
      const auto metric = record["metrics"].find(name);
      return metric != record["metrics"].end() && results::is_noisy(*metric);
    });
    if (noisy > 0)
      text += fmt::format("{}{} at {} of {} points", text.empty() ? "" : ", ", name, noisy,
                          records.size());
  }
  return text.empty() ? ""
                      : fmt::format(
                            "noisy (*), the quartiles lie more than {:.0f} % of the "
                            "median apart: {}\n",
                            100 * results::kNoisyShare, text);
}

// What the processor gave: timed pieces that other programs disturbed.
std::string disturbed_text(const Reported& report) {
  int64_t pieces = 0, disturbed = 0, retaken = 0;
  for (const Json& record : report.folder.records) {
    const Json use = record.value("core_use", Json::object());
    if (!use.is_object()) continue;
    const auto count = [&](const char* key) {
      const Json found = use.value(key, Json(0));
      return found.is_number_integer() ? found.get<int64_t>() : 0;
    };
    const Json times = use.value("wall_ms", Json::array());
    pieces += static_cast<int64_t>(times.size());
    disturbed += count("disturbed");
    retaken += count("retaken");
  }
  if (disturbed + retaken == 0) return "";
  return fmt::format(
      "other programs took the cores: of {} timed pieces of work {} were dropped and taken again, "
      "and {} count although they were disturbed\n",
      pieces, retaken, disturbed);
}

std::string notes_of(const Reported& report) {
  const results::ResultsFolder& folder = report.folder;
  std::string text = results::mixed_note(folder.records) + left_out_note(folder.run) +
                     skipped_note(folder.skipped) + missing_note(results::missing_points(folder)) +
                     noisy_text(report) + disturbed_text(report) +
                     paper_notes(folder.run, report.papers, all_metrics(folder));
  if (folder.torn_bytes > 0)
    text += fmt::format(
        "incomplete: {} bytes behind the last whole group of points are not counted; a run writes "
        "there, or was ended while it did\n",
        folder.torn_bytes);
  return text;
}

void write_lines(Html& html, const std::string& lines) {
  if (lines.empty()) return;
  html.open("ul");
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) html.element("li", line);
  html.close();
}

}  // namespace

void write_badges(Html& html, const Reported& report) {
  const Marked counts = marked(report);
  html.open("p", {{"class", "badges"}});
  const auto badge = [&](size_t count, const char* what, const char* name) {
    if (count > 0)
      html.element("span", fmt::format("{} {}", count, what), {{"class", name}}).text(" ");
  };
  badge(report.folder.records.size(), "points", "badge");
  badge(static_cast<size_t>(counts.invalid), "INVALID", "badge bad");
  badge(static_cast<size_t>(counts.inexact), "not exact", "badge bad");
  badge(counts.missing, "missing", "badge warn");
  badge(report.folder.skipped.size(), "skipped", "badge warn");
  badge(report.folder.run["left_out"].size(), "methods left out", "badge warn");
  badge(static_cast<size_t>(counts.noisy), "noisy", "badge warn");
  badge(static_cast<size_t>(counts.disturbed), "disturbed by other programs", "badge warn");
  html.close();
}

void write_validity(Html& html, const Reported& report) {
  const Marked counts = marked(report);
  html.element("h3", "Validity");
  const std::string notes = notes_of(report);
  if (counts.judged > 0)
    html.element("p", fmt::format("By the rules of their kind, {} of {} judged runs are VALID.",
                                  counts.judged - counts.invalid, counts.judged));
  if (notes.empty() && counts.judged == 0)
    html.element("p",
                 "Every planned point is there, of one code and one machine, and none is noisy.");
  write_table(html, refused_table(report), remedy_of(report.folder));
  write_lines(html, notes);
  const DataTable remarks = remarks_table(report);
  if (remarks.rows.empty()) return;
  html.open("details").element("summary", fmt::format("{} remarks", remarks.rows.size()));
  write_table(html, remarks, remedy_of(report.folder));
  html.close();
}

}  // namespace reprise::app
