#include "app/report/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "app/record_columns.h"
#include "app/record_table.h"
#include "app/report/changes.h"
#include "experiments/kinds/registry.h"
#include "results/drawing.h"
#include "results/identity.h"
#include "results/means.h"
#include "results/metric_name.h"
#include "results/provenance.h"
#include "results/record.h"
#include "results/run_validity.h"
#include "results/statistics.h"
#include "results/table.h"

namespace reprise::app {
namespace {

using results::PaperPoints;
using results::Record;
using results::ResultsFolder;
using results::short_number;
using Names = std::vector<std::string>;

Fields number_fact(double number) { return {{"text", short_number(number)}, {"value", number}}; }

// Returns the quartiles of a metric, or the interval of a percentile, as "1.19 to 1.22"; "" if the
// record has neither.
std::string spread_text(const Record& record, const std::string& name) {
  const results::MetricName wanted = results::split_metric_name(name);
  const results::Metric& metric = record.metrics.at(wanted.metric);
  std::optional<results::Interval> range;
  if (metric.spread) range = {.low = metric.spread->q1, .high = metric.spread->q3};
  if (wanted.names_percentile) {
    const auto interval = metric.intervals.find(wanted.percentile);
    range = interval == metric.intervals.end() ? std::nullopt : std::optional(interval->second);
  }
  return range ? fmt::format("{} to {}", short_number(range->low), short_number(range->high)) : "";
}

Fields metric_fact(const Record& record, const std::string& name) {
  Fields fact = {{"text", metric_text(record, name, /*has_spread=*/false)}};
  const auto metric = results::shown_metric(record.metrics, name);
  if (!metric) return fact;
  fact["value"] = metric->value;
  fact["spread"] = spread_text(record, name);
  return fact;
}

bool is_shown(const ResultsFolder& folder, const std::string& name) {
  return std::any_of(folder.records.begin(), folder.records.end(), [&](const Record& record) {
    return results::shown_metric(record.metrics, name).has_value();
  });
}

bool has_too_few(const ResultsFolder& folder, const std::string& name) {
  return std::any_of(folder.records.begin(), folder.records.end(), [&](const Record& record) {
    return results::has_too_few_samples(record.metrics, name);
  });
}

// A column of the page's table.
struct Column {
  std::string name, heading, help;
  bool is_own = false;  // true if the experiment names this metric
  bool is_measured = false;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("name", self.name);
    visitor.required("heading", self.heading);
    visitor.required("help", self.help);
    visitor.required("is_own", self.is_own);
    visitor.required("is_measured", self.is_measured);
  }
};

// Returns a column for every metric, the experiment's own metrics first. Each metric is followed by
// the percentiles of its tail.
std::vector<Column> columns_of(const Reported& report) {
  const ResultsFolder& folder = report.folder;
  const Names& own = folder.run.metrics;
  std::vector<Column> columns;
  const auto add = [&](const std::string& name) {
    const auto help = report.help.find(results::split_metric_name(name).metric);
    columns.push_back({.name = name,
                       .heading = heading_of(folder.records, name),
                       .help = help == report.help.end() ? "" : help->second,
                       .is_own = std::find(own.begin(), own.end(), name) != own.end(),
                       .is_measured = is_shown(folder, name) || has_too_few(folder, name)});
  };
  for (const std::string& name : all_metrics(folder)) {
    add(name);
    for (const results::Percentile& percentile : results::kPercentiles) {
      const std::string tail = name + "." + percentile.name;
      const bool is_own = std::find(own.begin(), own.end(), tail) != own.end();
      if (percentile.share > 0.5 && !is_own && is_shown(folder, tail)) add(tail);
    }
  }
  return columns;
}

Fields metric_facts(const Record& record, const std::vector<Column>& columns) {
  Fields facts;
  for (const Column& column : columns)
    if (column.is_measured) facts[column.name] = metric_fact(record, column.name);
  return facts;
}

Fields paper_facts(const PaperPoints& paper, const Record& record,
                   const std::vector<Column>& columns) {
  Fields facts;
  for (const Column& column : columns)
    if (const auto value = paper.value(record, column.name))
      facts[column.name] = number_fact(*value);
  return facts;
}

Fields setting_texts(const Record& record) {
  Fields texts;
  for (const auto& [name, value] : record.settings.requested)
    texts[name] = setting_text(record, name);
  return texts;
}

// Answers that are texts or numbers, as texts.
Fields answer_texts(const Record& record) {
  Fields texts;
  for (const auto& [name, value] : record.answers)
    if (!value.is_list() && !value.is_fields())
      texts[name] = value.is_null()   ? "-"
                    : value.is_real() ? short_number(value.number())
                                      : cell_text(value);
  return texts;
}

Fields limit_texts(const Machine& machine) {
  Fields texts;
  for (const auto& [name, limit] : results::measured_limits(machine))
    texts[name] = short_number(limit);
  return texts;
}

Fields cache_texts(const Machine& machine) {
  Fields texts;
  for (const auto& [key, bytes] :
       {std::pair{"l2_bytes", machine.l2_bytes}, std::pair{"l3_bytes", machine.l3_bytes}})
    if (bytes) texts[key] = short_number(static_cast<double>(*bytes) / 0x1p20);
  return texts;
}

Fields facts_of(const Record& record, const std::vector<Column>& columns,
                const std::vector<PaperPoints>& papers) {
  const results::Metrics& metrics = record.metrics;
  Values noisy, of_papers;
  for (const auto& [name, metric] : metrics)
    if (results::is_noisy(metric)) noisy.emplace_back(name);
  for (const PaperPoints& paper : papers)
    of_papers.emplace_back(paper_facts(paper, record, columns));
  return {{"settings", setting_texts(record)},
          {"metrics", metric_facts(record, columns)},
          {"papers", std::move(of_papers)},
          {"answers", answer_texts(record)},
          {"limits", limit_texts(record.machine)},
          {"caches_mib", cache_texts(record.machine)},
          {"noisy", std::move(noisy)},
          {"is_disturbed",
           std::any_of(metrics.begin(), metrics.end(),
                       [](const auto& one) { return one.second.disturbed.has_value(); })},
          {"is_judged", results::run_validity(record).is_judged},
          {"inexact", results::inexact_remark(metrics)}};
}

// Returns the papers' numbers that belong to the folder's points or to `means`, which are means
// over an axis.
std::vector<PaperPoints> papers_beside(ResultsFolder folder, const std::vector<Record>& means) {
  folder.records.insert(folder.records.end(), means.begin(), means.end());
  return results::papers_beside(folder);
}

Fields mean_facts(const Record& mean, const std::vector<Column>& columns,
                  const std::vector<PaperPoints>& papers) {
  Fields facts = facts_of(mean, columns, papers);
  facts["requested"] = mean.settings.requested;
  return facts;
}

Fields folder_document(const Reported& report, size_t number) {
  const ResultsFolder& folder = report.folder;
  const std::vector<Record> means = results::means_of(folder);
  const std::vector<PaperPoints> papers = papers_beside(folder, means);
  const std::vector<Column> columns = columns_of(report);
  Fields document = results::figures_document(folder, papers);
  document["looks"] = experiments::method_looks();
  document["id"] = fmt::format("r{}", number);
  document["prefix"] = fmt::format("r{}-", number);
  document["caption"] = written_fields(results::filled_caption(folder));
  document["keys"] = key_columns(folder.records, folder.run);
  document["columns"] = FieldWriter::written(columns);
  document["torn_bytes"] = folder.torn_bytes;
  document["has_plan"] = std::filesystem::is_directory(folder.source);
  document["notes"] = Fields{
      {"gaps", results::mixed_note(folder.records) + left_out_note(folder.run) +
                   skipped_note(folder.skipped) + missing_note(results::missing_points(folder))},
      {"papers", paper_notes(folder.run, papers, all_metrics(folder))}};
  Values facts;
  for (const Record& record : folder.records) facts.emplace_back(facts_of(record, columns, papers));
  document["facts"] = std::move(facts);
  Values facts_of_means;
  for (const Record& mean : means) facts_of_means.emplace_back(mean_facts(mean, columns, papers));
  document["means"] = std::move(facts_of_means);
  return document;
}

Value interval_of(const MetricChange& change) {
  if (!change.has_interval) return nullptr;
  if (!std::isfinite(change.high) || change.low == 0) return Values();
  return Values{change.low, change.high};
}

Fields change_fact(const MetricChange& change, const ResultsFolder& after) {
  return {{"point", change.after - after.records.data()},
          {"metric", change.metric},
          {"heading", heading_in(*change.after, change.metric)},
          {"before", metric_fact(*change.before, change.metric)},
          {"after", metric_fact(*change.after, change.metric)},
          {"ratio", std::isfinite(change.ratio) ? Value(change.ratio) : Value()},
          {"interval", interval_of(change)},
          {"verdict", name_of(change.verdict)}};
}

Fields changes_document(const ResultsFolder& before, const ResultsFolder& after,
                        const checks::ChangeOptions& options) {
  const Changes changes = changes_between(before, after, options);
  Values metrics;
  for (const MetricChange& change : changes.metrics)
    metrics.emplace_back(change_fact(change, after));
  return {{"points", changes.points},           {"only_before", changes.only_before},
          {"only_after", changes.only_after},   {"tested", changes.tested},
          {"differences", changes.differences}, {"confidence", 1 - options.false_alarm},
          {"margin", options.margin},           {"most_compared", checks::kMostCompared},
          {"metrics", std::move(metrics)}};
}

bool are_of_one_experiment(const ResultsFolder& a, const ResultsFolder& b) {
  const results::PlannedSettings &one = a.run.settings, &other = b.run.settings;
  return one.name == other.name && one.kind == other.kind;
}

}  // namespace

Fields report_document(const std::vector<Reported>& reports, const checks::ChangeOptions& options) {
  Values documents, all_changes;
  for (size_t after = 0; after < reports.size(); ++after) {
    documents.emplace_back(folder_document(reports[after], after + 1));
    for (size_t before = 0; before < after; ++before) {
      if (!are_of_one_experiment(reports[before].folder, reports[after].folder)) continue;
      Fields changes = changes_document(reports[before].folder, reports[after].folder, options);
      changes["before"] = before;
      changes["after"] = after;
      all_changes.emplace_back(std::move(changes));
      break;
    }
  }
  return {{"version", results::version_text()},
          {"reports", std::move(documents)},
          {"changes", std::move(all_changes)}};
}

}  // namespace reprise::app
