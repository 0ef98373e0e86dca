#include "app/record_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "app/number_option.h"
#include "app/output.h"
#include "app/record_columns.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "results/catalogue.h"
#include "results/drawing.h"
#include "results/identity.h"
#include "results/means.h"
#include "results/metric_name.h"
#include "results/paper_numbers.h"
#include "results/record.h"
#include "results/run_validity.h"
#include "results/statistics.h"
#include "results/table.h"

namespace reprise::app {
namespace {

using results::PaperPoints;
using results::Record;
using results::short_number;
using results::Table;

// Sentences that a reader of the record's numbers must know: that the method was less exact than it
// promises, or that the run or its speed-up is INVALID.
std::vector<std::string> warnings_of(const Record& record, const std::vector<Record>& records) {
  std::vector<std::string> warnings = {results::inexact_remark(record.metrics),
                                       results::invalid_remark(record.answers),
                                       results::invalid_speedup_remark(record, records)};
  std::erase(warnings, "");
  return warnings;
}

// The settings that distinguish a record's row.
std::string row_text(const Record& record, const std::vector<std::string>& keys) {
  std::vector<std::string> row;
  for (const std::string& key : keys) row.push_back(setting_text(record, key));
  return fmt::format("{}", fmt::join(row, " "));
}

// A line for each warning, with the settings that distinguish its row.
std::string marked_lines(const std::vector<Record>& records, const std::vector<std::string>& keys) {
  std::string text;
  for (const Record& record : records)
    for (const std::string& warning : warnings_of(record, records))
      text += fmt::format("{} ({})\n", warning, row_text(record, keys));
  return text;
}

// A line for each reservation about VALID runs. If a reservation does not concern all rows, the
// line has the settings of the rows that it concerns.
std::string reservation_lines(const std::vector<Record>& records,
                              const std::vector<std::string>& keys) {
  std::map<std::string, std::vector<std::string>> rows;
  for (const Record& record : records)
    for (const std::string& reservation : results::run_validity(record).reservations)
      rows[reservation].push_back(row_text(record, keys));
  std::string text;
  for (const auto& [reservation, those] : rows)
    text += fmt::format(
        "{} ({})\n", reservation,
        those.size() == records.size() ? "all points" : fmt::format("{}", fmt::join(those, "; ")));
  return text;
}

// A line for each percentile that has too few samples in some of the records.
std::string too_few_lines(const std::vector<Record>& records,
                          const std::vector<std::string>& metrics) {
  std::string text;
  for (const std::string& name : metrics) {
    const auto few = std::count_if(records.begin(), records.end(), [&](const Record& record) {
      return results::has_too_few_samples(record.metrics, name);
    });
    const results::MetricName wanted = results::split_metric_name(name);
    const bool has_requests =
        std::any_of(records.begin(), records.end(), [&](const Record& record) {
          const results::Metric* metric = results::find_metric(record.metrics, wanted.metric);
          return metric != nullptr && metric->is_population;
        });
    for (const results::Percentile& percentile : results::kPercentiles)
      if (few > 0 && wanted.percentile == percentile.name)
        text += fmt::format(
            "too few: {} takes {} samples, {} of {} points have fewer (more with --set {}=N)\n",
            name, percentile.least_samples(), few, records.size(),
            has_requests ? "settings.requests" : "repetitions");
  }
  return text;
}

// Notes below the table: what scale "smoke" means, percentiles with too few samples, the meaning of
// the star, and the number of impossible shares of a limit.
std::string footnotes(const std::vector<Record>& records, const std::vector<std::string>& metrics) {
  const bool is_smoke = std::any_of(records.begin(), records.end(), [](const Record& record) {
    return record.experiment.scale == "smoke";
  });
  bool has_noise = false;
  int above_one = 0;
  for (const Record& record : records)
    for (const std::string& name : metrics) {
      const results::Metric* metric = results::find_metric(record.metrics, name);
      if (metric == nullptr) continue;
      has_noise = has_noise || is_starred(*metric);
      if (name.ends_with("_limit_ratio") && metric->value > 1 &&
          !results::may_read_caches(name, record.metrics))
        ++above_one;
    }
  std::string text = is_smoke
                         ? "scale smoke: sizes that show that everything works; neither numbers "
                           "nor verdicts stand for larger ones\n"
                         : "";
  text += too_few_lines(records, metrics);
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

std::vector<std::string> wanted_metrics(const results::ResultsFolder& folder,
                                        const TableOptions& options) {
  if (options.metrics.empty()) return folder.run.metrics;
  std::vector<std::string> known = all_metrics(folder);
  if (options.metrics == "all") return known;
  for (const std::string& name : options.known)
    if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
  return named_metrics(options.metrics, known);
}

void check_metric_name(const std::string& name, const std::vector<std::string>& known) {
  const results::MetricName wanted = results::split_metric_name(name);
  if (std::find(known.begin(), known.end(), wanted.metric) == known.end())
    raise("--metrics: {}", unknown_name("metric", wanted.metric, known));
  const std::vector<std::string> percentiles = results::percentile_names();
  if (wanted.names_percentile &&
      std::find(percentiles.begin(), percentiles.end(), wanted.percentile) == percentiles.end())
    raise("--metrics: {}",
          unknown_name("percentile of " + wanted.metric, wanted.percentile, percentiles));
}

// All columns of a table, and the groups of columns that must be in the same table.
struct Columns {
  Table table;
  std::vector<size_t> keys;
  std::vector<std::vector<size_t>> metrics;  // for each metric its own column, then those of papers
};

// `has_spread`: quartiles are shown beside medians.
Columns columns_of(const results::ResultsFolder& folder, const std::vector<std::string>& keys,
                   const std::vector<std::string>& metrics, const std::vector<PaperPoints>& papers,
                   bool has_spread) {
  Columns columns;
  const auto& axes = folder.run.settings.axes;
  size_t place = 0;
  for (const std::string& key : keys) {
    columns.table.column(key, axes.contains(key) ? Table::Align::kRight : Table::Align::kLeft);
    columns.keys.push_back(place++);
  }
  for (const std::string& name : metrics) {
    columns.table.column(heading_of(folder.records, name), Table::Align::kRight);
    columns.metrics.push_back({place++});
    for (const PaperPoints& paper : papers)
      if (paper.has(name)) {
        columns.table.column(paper.label, Table::Align::kRight);
        columns.metrics.back().push_back(place++);
      }
  }
  for (const Record& record : folder.records) {
    std::vector<std::string> cells;
    for (const std::string& key : keys) cells.push_back(setting_text(record, key));
    for (const std::string& name : metrics) {
      cells.push_back(metric_text(record, name, has_spread));
      for (const PaperPoints& paper : papers)
        if (paper.has(name)) {
          const std::optional<double> value = paper.value(record, name);
          cells.push_back(value ? short_number(*value) : "-");
        }
    }
    columns.table.row(std::move(cells));
  }
  return columns;
}

// Divides the metrics among tables that are at most `width` wide. Each table has the key columns
// and at least one metric, even if that makes it wider.
std::vector<std::vector<size_t>> blocks_of(const Columns& columns, size_t width) {
  const std::vector<size_t> widths = columns.table.widths();
  size_t keys_width = 0;
  for (const size_t c : columns.keys) keys_width += widths[c] + Table::kGap;
  std::vector<std::vector<size_t>> blocks;  // indices of metrics
  size_t used = 0;
  for (size_t m = 0; m < columns.metrics.size(); ++m) {
    size_t needed = 0;
    for (const size_t c : columns.metrics[m]) needed += widths[c] + Table::kGap;
    if (blocks.empty() || used + needed > width + Table::kGap) {
      blocks.emplace_back();
      used = keys_width;
    }
    blocks.back().push_back(m);
    used += needed;
  }
  return blocks;
}

Table table_of(const Columns& columns, const std::vector<size_t>& metrics) {
  std::vector<size_t> places = columns.keys;
  for (const size_t m : metrics)
    places.insert(places.end(), columns.metrics[m].begin(), columns.metrics[m].end());
  return columns.table.with_columns(places);
}

// Tables that fit the width, one below the other. There is only the first table unless the user
// asked for certain metrics. If one metric with its quartiles is too wide for a table of its own,
// all tables leave quartiles out.
struct Tables {
  std::string text;
  size_t metrics_shown = 0;
  bool has_spread = true;
};

Tables tables_of(const results::ResultsFolder& folder, const std::vector<std::string>& keys,
                 const std::vector<std::string>& metrics, const std::vector<PaperPoints>& papers,
                 const TableOptions& options) {
  Tables tables;
  for (const bool has_spread : {true, false}) {
    const Columns columns = columns_of(folder, keys, metrics, papers, has_spread);
    const auto blocks = blocks_of(columns, options.columns);
    const size_t told =
        options.metrics.empty() ? std::min<size_t>(1, blocks.size()) : blocks.size();
    tables = {};
    tables.has_spread = has_spread;
    bool fits = true;
    for (size_t b = 0; b < told; ++b) {
      const Table table = table_of(columns, blocks[b]);
      tables.text += (b == 0 ? "" : "\n") + table.text();
      tables.metrics_shown += blocks[b].size();
      fits = fits && table.width() <= options.columns;
    }
    if (fits) break;
  }
  return tables;
}

// CSV for other programs: one number per cell, with all its digits. The first columns are `keys`,
// with the texts of cell(record, key). The last column names the metrics that tables mark with a
// star.
template <typename Cell>
std::string csv_of(const results::ResultsFolder& folder, const std::vector<std::string>& keys,
                   Cell&& cell, const std::vector<std::string>& metrics,
                   const std::vector<PaperPoints>& papers) {
  Table table;
  for (const std::string& key : keys) table.column(key);
  for (const std::string& name : metrics) {
    for (const char* suffix : {"", "_q1", "_q3"}) table.column(name + suffix);
    for (const PaperPoints& paper : papers)
      if (paper.has(name)) table.column(name + " " + paper.label);
  }
  table.column("noisy");
  for (const Record& record : folder.records) {
    std::vector<std::string> cells;
    const auto add = [&](const std::optional<double>& number) {
      cells.push_back(number ? cell_text(*number) : "");
    };
    for (const std::string& key : keys) cells.push_back(cell(record, key));
    std::vector<std::string> starred;
    for (const std::string& name : metrics) {
      const auto metric = results::shown_metric(record.metrics, name);
      const bool has_spread = metric && metric->spread;
      if (metric && is_starred(*metric)) starred.push_back(name);
      add(metric ? std::optional(metric->value) : std::nullopt);
      add(has_spread ? std::optional(metric->spread->q1) : std::nullopt);
      add(has_spread ? std::optional(metric->spread->q3) : std::nullopt);
      for (const PaperPoints& paper : papers)
        if (paper.has(name)) add(paper.value(record, name));
    }
    cells.push_back(fmt::format("{}", fmt::join(starred, " ")));
    table.row(std::move(cells));
  }
  return table.csv();
}

// `origin(record)` returns the fields that come first in a row.
template <typename Origin>
std::string json_rows(const results::ResultsFolder& folder, const std::vector<std::string>& metrics,
                      const std::vector<PaperPoints>& papers, Origin&& origin) {
  Values rows;
  for (const Record& record : folder.records) {
    results::Metrics shown;
    for (const std::string& name : metrics)
      if (const auto metric = results::shown_metric(record.metrics, name)) shown[name] = *metric;
    Fields row = origin(record);
    row.insert({{"point", record.point},
                {"settings", record.settings.requested},
                {"metrics", FieldWriter::written(shown)}});
    Fields of_papers;
    for (const PaperPoints& paper : papers)
      if (const auto point = paper.points.find(record.point); point != paper.points.end())
        of_papers[paper.label] = FieldWriter::written(point->second);
    if (!of_papers.empty()) row["papers"] = std::move(of_papers);
    rows.emplace_back(std::move(row));
  }
  return json_text(rows, /*indent=*/2) + "\n";
}

// Names the experiment, program and machine that a record comes from, for rows that stand alone.
Fields origin_of(const Record& record, const std::vector<Record>& records) {
  const results::Provenance& program = record.provenance;
  return {{"experiment", record.experiment.name},
          {"scale", record.experiment.scale},
          {"label", setting_text(record, "method")},
          {"cpu", record.machine.cpu},
          {"revision", program.revision + (program.is_dirty ? "+" + program.changes : "")},
          {"ended_at", record.ended_at},
          {"warnings", fmt::format("{}", fmt::join(warnings_of(record, records), "; "))}};
}

// Adds the entries of `fields` to `out` under their paths, such as "workload.name".
void flatten(const Fields& fields, const std::string& prefix, Fields& out) {
  for (const auto& [name, value] : fields) {
    if (value.is_fields()) {
      flatten(value.fields(), prefix + name + ".", out);
    } else {
      out[prefix + name] = value;
    }
  }
}

std::string not_shown(const std::vector<std::string>& metrics, size_t shown) {
  if (shown == metrics.size()) return "";
  const std::vector<std::string> rest(metrics.begin() + static_cast<int64_t>(shown), metrics.end());
  return fmt::format("not shown, for want of width: {} (--metrics all shows them)\n",
                     fmt::join(rest, ", "));
}

}  // namespace

std::vector<std::string> named_metrics(const std::string& wanted,
                                       const std::vector<std::string>& known) {
  std::vector<std::string> names;
  std::istringstream stream(wanted);
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  if (wanted.ends_with(',')) names.emplace_back();
  for (const std::string& name : names) {
    if (name.empty())
      raise("--metrics {} has an empty name; name some of: {}", wanted, fmt::join(known, ", "));
    if (std::count(names.begin(), names.end(), name) > 1)
      raise("--metrics {} names {} twice", wanted, name);
    check_metric_name(name, known);
  }
  return names;
}

std::string paper_notes(const results::Manifest& manifest, const std::vector<PaperPoints>& papers,
                        const std::vector<std::string>& metrics) {
  std::string text;
  std::map<std::string, std::string> labels_without;  // key: source; labels without a number here
  for (const results::PaperNumbers& paper : results::paper_numbers_of(manifest)) {
    const auto is_of_paper = [&](const PaperPoints& points) {
      return points.source == paper.source() && points.label == paper.label();
    };
    if (!paper.missing().empty()) {
      const std::string remedy = results::how_to_fetch(paper.missing());
      text +=
          fmt::format("the paper's numbers are in {}, which is not here. {}\n", paper.missing(),
                      remedy.empty() ? "Put it below the folder that REPRISE_DATA names" : remedy);
    } else if (std::none_of(papers.begin(), papers.end(), is_of_paper)) {
      std::string& labels = labels_without[paper.source()];
      labels += (labels.empty() ? "" : ", ") + paper.label();
    }
  }
  for (const auto& [source, labels] : labels_without)
    text += fmt::format("{}: no number of {} has the model and settings of these points\n", labels,
                        source);
  std::map<std::string, std::pair<std::string, std::string>> sources;  // value: labels and hardware
  for (const PaperPoints& paper : papers) {
    if (std::none_of(metrics.begin(), metrics.end(),
                     [&](const std::string& name) { return paper.has(name); }))
      continue;
    auto& [labels, hardware] = sources[paper.source];
    labels += (labels.empty() ? "" : ", ") + paper.label;
    hardware += (hardware.empty() ? "" : "; ") + paper.hardware;
  }
  for (const auto& [source, those] : sources)
    text += fmt::format("{}: {}, on {}\n", those.first, source, those.second);
  return text;
}

std::string left_out_note(const results::Manifest& manifest) {
  std::map<std::string, std::string> methods;  // key: reason
  for (const results::LeftOut& left_out : manifest.left_out) {
    std::string& names = methods[left_out.reason];
    names += (names.empty() ? "" : ", ") + left_out.method;
  }
  std::string text;
  for (const auto& [reason, names] : methods)
    text += fmt::format("left out: {}. {}\n", names, reason);
  return text;
}

std::string skipped_note(const std::vector<results::SkippedPoint>& skipped) {
  constexpr size_t kMostLines = 12;
  std::map<std::string, int> points;  // key: group
  for (const results::SkippedPoint& point : skipped) ++points[point.group];
  std::set<std::string> told;
  std::string text;
  for (const results::SkippedPoint& point : skipped) {
    if (told.size() == kMostLines || !told.insert(point.group).second) continue;
    text += fmt::format("skipped: {} ({} point{}): {}\n", point.label, points[point.group],
                        points[point.group] == 1 ? "" : "s", point.reason);
  }
  if (points.size() > told.size())
    text += fmt::format("skipped: {} more groups, {} points in all; skipped.json lists them\n",
                        points.size() - told.size(), skipped.size());
  return text;
}

std::string missing_note(const std::vector<results::MissingPoints>& missing) {
  constexpr size_t kMostPlaces = 12;
  size_t points = 0;
  std::string text;
  for (size_t i = 0; i < missing.size(); ++i) {
    points += missing[i].methods.size();
    if (i < kMostPlaces)
      text +=
          fmt::format("missing: {}: {}\n", missing[i].label, fmt::join(missing[i].methods, ", "));
  }
  if (missing.size() > kMostPlaces)
    text += fmt::format("missing: {} more places of the sweep, {} points in all\n",
                        missing.size() - kMostPlaces, points);
  return text;
}

void add_table_options(CLI::App& command, TableOptions& options) {
  command.add_option("--format", options.format,
                     "of the results: table, csv, markdown or json (default: table)");
  command
      .add_option("--metrics", options.metrics,
                  "metrics to show, as a,b; or all (default: the experiment's, as many as fit)")
      ->check(not_empty());
}

TableFormat parse_table_format(const std::string& name) {
  const std::vector<std::string> names = {"table", "csv", "markdown", "json"};
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) raise("--format {}: {}", name, unknown_name("format", name, names));
  return static_cast<TableFormat>(found - names.begin());
}

std::string exported_rows(const results::ResultsFolder& folder, const TableOptions& options) {
  const TableFormat format = parse_table_format(options.format);
  if (format != TableFormat::kCsv && format != TableFormat::kJson)
    raise("--format {}: rows for other programs are csv or json", options.format);
  const std::vector<std::string> metrics =
      options.metrics.empty() ? all_metrics(folder) : wanted_metrics(folder, options);
  const auto papers = results::papers_beside(folder);
  const auto origin = [&](const Record& record) { return origin_of(record, folder.records); };
  if (format == TableFormat::kJson) return json_rows(folder, metrics, papers, origin);
  std::map<std::string, Fields> rows;  // key: point
  std::set<std::string> settings;
  for (const Record& record : folder.records) {
    Fields& row = rows[record.point] = origin(record);
    Fields flat;
    flatten(record.settings.requested, "", flat);
    for (const auto& [name, value] : flat) settings.insert(name);
    row.merge(flat);
    row["point"] = record.point;
  }
  std::vector<std::string> keys = {"experiment", "scale",    "label",    "point",
                                   "cpu",        "revision", "ended_at", "warnings"};
  keys.insert(keys.end(), settings.begin(), settings.end());
  const auto cell = [&](const Record& record, const std::string& key) {
    const Fields& row = rows.at(record.point);
    const auto found = row.find(key);
    return found == row.end() ? "" : cell_text(found->second);
  };
  return csv_of(folder, keys, cell, metrics, papers);
}

RecordTable record_table(const results::ResultsFolder& measured, const TableOptions& options) {
  results::ResultsFolder folder = measured;
  for (results::Record& mean : results::means_of(measured))
    folder.records.push_back(std::move(mean));
  const TableFormat format = parse_table_format(options.format);
  const std::vector<std::string> keys = key_columns(folder.records, folder.run);
  const std::vector<std::string> metrics = wanted_metrics(folder, options);
  const auto papers = results::papers_beside(folder);
  RecordTable out;
  std::vector<std::string> shown = metrics;
  std::string spread_note;
  if (format == TableFormat::kCsv) {
    out.data = csv_of(folder, keys, setting_text, metrics, papers);
  } else if (format == TableFormat::kJson) {
    out.data = json_rows(folder, metrics, papers, [](const Record&) { return Fields(); });
  } else if (format == TableFormat::kMarkdown) {
    out.data = columns_of(folder, keys, metrics, papers, /*has_spread=*/true).table.markdown();
  } else {
    const Tables tables = tables_of(folder, keys, metrics, papers, options);
    out.data = tables.text;
    shown.resize(tables.metrics_shown);
    if (!tables.has_spread)
      spread_note = "quartiles are left out, for want of width (--format csv has them)\n";
  }
  out.notes = results::wrapped(
      not_shown(metrics, shown.size()) + spread_note + marked_lines(measured.records, keys) +
          reservation_lines(measured.records, keys) + results::mixed_note(measured.records) +
          footnotes(measured.records, shown) + left_out_note(folder.run) +
          skipped_note(folder.skipped) + missing_note(results::missing_points(measured)) +
          paper_notes(folder.run, papers, shown),
      options.columns);
  return out;
}

void print_table(const RecordTable& table, const TableOptions& options) {
  const bool is_for_people = parse_table_format(options.format) == TableFormat::kTable;
  if (is_for_people) {
    print("{}{}", table.data, table.notes);
    flush_output();
  } else {
    write_output(table.data);
    flush_output();
    note("{}", table.notes);
  }
}

}  // namespace reprise::app
