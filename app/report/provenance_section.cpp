#include "app/report/provenance_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "app/record_columns.h"
#include "app/report/data_table.h"
#include "results/placeholders.h"
#include "results/table.h"

namespace reprise::app {
namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

// Different texts that fn(record) gives, "" left out.
std::string different(const std::vector<Json>& records,
                      const std::function<std::string(const Json&)>& fn) {
  std::set<std::string> texts;
  for (const Json& record : records)
    if (std::string text = fn(record); !text.empty()) texts.insert(std::move(text));
  return fmt::format("{}", fmt::join(texts, "; "));
}

// Seconds since 1970 of "2026-01-31T12:34:56.789Z".
std::optional<int64_t> seconds_of(const std::string& utc) {
  std::tm time{};
  if (std::sscanf(utc.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d", &time.tm_year, &time.tm_mon,
                  &time.tm_mday, &time.tm_hour, &time.tm_min, &time.tm_sec) != 6)
    return std::nullopt;
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  return timegm(&time);
}

std::string duration_text(int64_t seconds) {
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 7200) return fmt::format("{} min", seconds / 60);
  return fmt::format("{:.1f} h", static_cast<double>(seconds) / 3600);
}

struct Interval {
  int64_t begin_s, end_s;
};

std::vector<Interval> intervals_of(const std::vector<Json>& records) {
  std::vector<Interval> intervals;
  for (const Json& record : records) {
    const auto begin = seconds_of(record.value("started_at", ""));
    const auto end = seconds_of(record.value("ended_at", ""));
    if (begin && end) intervals.push_back({*begin, *end});
  }
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin_s < b.begin_s; });
  return intervals;
}

// A run that goes on measures its next point within seconds.
std::string pauses_text(const std::vector<Json>& records) {
  constexpr int64_t kLeastPause = 300;
  const std::vector<Interval> intervals = intervals_of(records);
  int64_t pauses = 0, longest_s = 0;
  for (size_t i = 1, last = 0; i < intervals.size(); ++i) {
    const int64_t pause_s = intervals[i].begin_s - intervals[last].end_s;
    if (pause_s >= kLeastPause) ++pauses;
    longest_s = std::max(longest_s, pause_s);
    if (intervals[i].end_s > intervals[last].end_s) last = i;
  }
  if (pauses == 0) return "";
  return fmt::format("{} of more than {}, the longest {}: the run was ended and resumed, or waited",
                     pauses, duration_text(kLeastPause), duration_text(longest_s));
}

std::string time_text(const std::vector<Json>& records) {
  std::set<std::string> begins, ends;
  for (const Json& record : records) {
    begins.insert(record.value("started_at", ""));
    ends.insert(record.value("ended_at", ""));
  }
  return fmt::format("{} to {}", *begins.begin(), *ends.rbegin());
}

std::string mib(const Json& bytes) {
  return bytes.is_number() ? results::short_number(bytes.get<double>() / 0x1p20) + " MiB" : "?";
}

std::string machine_text(const Json& record) {
  const Json& machine = record["machine"];
  std::string text = fmt::format("{}, {} logical cores", machine.value("cpu", "unknown"),
                                 machine.value("logical_cores", Json("?")).dump());
  if (machine.contains("l2_bytes"))
    text += fmt::format(", L2 {}, L3 {}", mib(machine["l2_bytes"]),
                        mib(machine.value("l3_bytes", Json())));
  return text;
}

// "dram_read_gb_s 25.1": names have their units.
std::string limits_text(const Json& record) {
  const Json limits = record["machine"].value("limits", Json::object());
  std::string text;
  for (const auto& [name, limit] : limits.items())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                        results::short_number(limit.get<double>()));
  return text;
}

std::string revision_text(const Json& record) {
  const Json& made = record["provenance"];
  return made.value("revision", "unknown") + (made.value("dirty", false) ? " (modified)" : "");
}

std::string libraries_text(const Json& record) {
  const Json libraries = record["provenance"].value("libraries", Json::object());
  std::string text;
  if (libraries.is_object())
    for (const auto& [name, version] : libraries.items())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, cell_text(version));
  return text;
}

std::string seeds_text(const Json& record) {
  std::string text;
  for (const auto& [name, seed] : record["seeds"].items())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, seed.dump());
  return text;
}

// Settings that no table has as a column, because all points share them.
std::string shared_settings_text(const Reported& report) {
  std::set<std::string> names;
  for (const Json& record : report.folder.records)
    for (const auto& [name, value] : record["settings"]["requested"].items())
      if (!value.is_object() || name == "workload") names.insert(name);
  for (const std::string& key : report.keys) names.erase(key);
  std::string text;
  for (const std::string& name : names)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                        different(report.folder.records,
                                  [&](const Json& record) { return setting_text(record, name); }));
  return text;
}

// Paths of one line of a file's fingerprints, such as "config 12ab" of each model.
void flatten(const Json& value, const std::string& path, std::vector<std::string>& lines) {
  constexpr size_t kMostLines = 40;
  if (lines.size() >= kMostLines) return;
  if (!value.is_structured()) return lines.push_back(path + " " + cell_text(value));
  for (const auto& [key, part] : value.items())
    flatten(part, path + (path.empty() ? "" : " ") + key, lines);
}

std::string sources_text(const Json& record) {
  std::vector<std::string> lines;
  if (record.contains("sources")) flatten(record["sources"], "", lines);
  return fmt::format("{}", fmt::join(lines, ", "));
}

}  // namespace

void write_provenance(Html& html, const Reported& report) {
  const std::vector<Json>& records = report.folder.records;
  const Json& run = report.folder.run;
  const auto of_all = [&](const std::function<std::string(const Json&)>& fn) {
    return different(records, fn);
  };
  const auto made = [&](const char* key) {
    return of_all([key](const Json& record) { return record["provenance"].value(key, ""); });
  };
  Facts facts = {{"results", report.folder.source},
                 {"experiment", fmt::format("{}, kind {}, scale {}", report.name(), report.kind(),
                                            run["settings"]["scale"].get<std::string>())},
                 {"settings' hash", run["config_hash"].get<std::string>()},
                 {"measured", time_text(records)},
                 {"pauses", pauses_text(records)},
                 {"processes", of_all([](const Json& record) {
                    return cell_text(record.value("writer", Json("")));
                  })},
                 {"machine", of_all(machine_text)},
                 {"measured limits", of_all(limits_text)},
                 {"code revision", of_all(revision_text)},
                 {"compiler", made("compiler")},
                 {"flags", made("flags")},
                 {"libraries", of_all(libraries_text)},
                 {"seeds", of_all(seeds_text)},
                 {"settings of all points", shared_settings_text(report)},
                 {"files", of_all(sources_text)}};
  html.open("details").element("summary", "Provenance: machine, limits, code, seeds, settings");
  write_facts(html, facts);
  html.close();
}

}  // namespace reprise::app
