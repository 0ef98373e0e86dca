#include "app/report/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/record_columns.h"
#include "app/record_table.h"
#include "app/report/changes.h"
#include "experiments/kinds/registry.h"
#include "results/drawing.h"
#include "results/identity.h"
#include "results/metric_name.h"
#include "results/provenance.h"
#include "results/record.h"
#include "results/run_validity.h"
#include "results/statistics.h"
#include "results/table.h"

namespace reprise::app {
namespace {

using results::ResultsFolder;
using results::short_number;
using Names = std::vector<std::string>;

Json number_fact(const Json& number) {
  return {{"text", short_number(number.get<double>())}, {"value", number}};
}

// "1.19 to 1.22": the quartiles, or the interval of a percentile; "" if the record has neither.
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

Json metric_fact(const Json& record, const std::string& name) {
  Json fact = {{"text", metric_text(record, name, /*has_spread=*/false)}};
  const Json metric = results::shown_metric(record["metrics"], name);
  if (metric.is_null()) return fact;
  fact["value"] = metric["value"];
  fact["spread"] = spread_text(record, name);
  return fact;
}

bool is_shown(const ResultsFolder& folder, const std::string& name) {
  return std::any_of(folder.records.begin(), folder.records.end(), [&](const Json& record) {
    return !results::shown_metric(record["metrics"], name).is_null();
  });
}

bool has_too_few(const ResultsFolder& folder, const std::string& name) {
  return std::any_of(folder.records.begin(), folder.records.end(), [&](const Json& record) {
    return results::has_too_few_samples(record["metrics"], name);
  });
}

// All metrics, the experiment's own first, each followed by the percentiles of its tail.
Json columns_of(const Reported& report) {
  const ResultsFolder& folder = report.folder;
  const Names own = folder.run["metrics"].get<Names>();
  Json columns = Json::array();
  const auto add = [&](const std::string& name) {
    const auto help = report.help.find(results::split_metric_name(name).metric);
    columns.push_back({{"name", name},
                       {"heading", heading_of(folder.records, name)},
                       {"help", help == report.help.end() ? "" : help->second},
                       {"is_own", std::find(own.begin(), own.end(), name) != own.end()},
                       {"is_measured", is_shown(folder, name) || has_too_few(folder, name)}});
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

Json metric_facts(const Json& record, const Json& columns) {
  Json facts = Json::object();
  for (const Json& column : columns)
    if (column["is_measured"]) facts[column["name"]] = metric_fact(record, column["name"]);
  return facts;
}

Json paper_facts(const Json& paper, const Json& record, const Json& columns) {
  Json facts = Json::object();
  for (const Json& column : columns)
    if (const Json value = paper_value(paper, record, column["name"]); !value.is_null())
      facts[column["name"]] = number_fact(value);
  return facts;
}

Json setting_texts(const Json& record) {
  Json texts = Json::object();
  for (const auto& [name, value] : record["settings"]["requested"].items())
    texts[name] = setting_text(record, name);
  return texts;
}

// Answers that are texts or numbers, as texts.
Json answer_texts(const Json& record) {
  Json texts = Json::object();
  for (const auto& [name, value] : record["answers"].items())
    if (value.is_primitive())
      texts[name] = value.is_null()           ? "-"
                    : value.is_number_float() ? short_number(value.get<double>())
                                              : cell_text(value);
  return texts;
}

Json limit_texts(const Json& machine) {
  const Json limits = machine.value("limits", Json::object());
  Json texts = Json::object();
  for (const auto& [name, limit] : limits.items()) texts[name] = short_number(limit.get<double>());
  return texts;
}

Json cache_texts(const Json& machine) {
  Json texts = Json::object();
  for (const char* key : {"l2_bytes", "l3_bytes"})
    if (const Json bytes = machine.value(key, Json()); bytes.is_number())
      texts[key] = short_number(bytes.get<double>() / 0x1p20);
  return texts;
}

Json facts_of(const Json& record, const Json& columns, const Json& papers) {
  const Json& metrics = record["metrics"];
  Json noisy = Json::array(), of_papers = Json::array();
  for (const auto& [name, metric] : metrics.items())
    if (results::is_noisy(metric)) noisy.push_back(name);
  for (const Json& paper : papers) of_papers.push_back(paper_facts(paper, record, columns));
  return {{"settings", setting_texts(record)},
          {"metrics", metric_facts(record, columns)},
          {"papers", std::move(of_papers)},
          {"answers", answer_texts(record)},
          {"limits", limit_texts(record["machine"])},
          {"caches_mib", cache_texts(record["machine"])},
          {"noisy", std::move(noisy)},
          {"is_disturbed", std::any_of(metrics.begin(), metrics.end(), results::is_disturbed)},
          {"is_judged", results::run_validity(record).is_judged},
          {"inexact", results::inexact_remark(metrics)}};
}

Json folder_document(const Reported& report, size_t number) {
  const ResultsFolder& folder = report.folder;
  Json document = results::figures_document(folder);
  document["looks"] = experiments::method_looks();
  document["id"] = fmt::format("r{}", number);
  document["prefix"] = fmt::format("r{}-", number);
  document["caption"] = results::filled_caption(folder);
  document["keys"] = key_columns(folder.records, folder.run);
  document["columns"] = columns_of(report);
  document["torn_bytes"] = folder.torn_bytes;
  const Json& papers = document["papers"];
  document["notes"] = {
      {"gaps", results::mixed_note(folder.records) + left_out_note(folder.run) +
                   skipped_note(folder.skipped) + missing_note(results::missing_points(folder))},
      {"papers", paper_notes(folder.run, papers, all_metrics(folder))}};
  Json& facts = document["facts"] = Json::array();
  for (const Json& record : folder.records)
    facts.push_back(facts_of(record, document["columns"], papers));
  return document;
}

Json interval_of(const MetricChange& change) {
  if (!change.has_interval) return nullptr;
  if (!std::isfinite(change.high) || change.low == 0) return Json::array();
  return {change.low, change.high};
}

Json change_fact(const MetricChange& change, const ResultsFolder& after) {
  return {{"point", change.after - after.records.data()},
          {"metric", change.metric},
          {"heading", heading_in(*change.after, change.metric)},
          {"before", metric_fact(*change.before, change.metric)},
          {"after", metric_fact(*change.after, change.metric)},
          {"ratio", std::isfinite(change.ratio) ? Json(change.ratio) : Json()},
          {"interval", interval_of(change)},
          {"verdict", name_of(change.verdict)}};
}

Json changes_document(const ResultsFolder& before, const ResultsFolder& after,
                      const checks::ChangeOptions& options) {
  const Changes changes = changes_between(before, after, options);
  Json metrics = Json::array();
  for (const MetricChange& change : changes.metrics) metrics.push_back(change_fact(change, after));
  return {{"points", changes.points},           {"only_before", changes.only_before},
          {"only_after", changes.only_after},   {"tested", changes.tested},
          {"differences", changes.differences}, {"confidence", 1 - options.false_alarm},
          {"margin", options.margin},           {"most_compared", checks::kMostCompared},
          {"metrics", std::move(metrics)}};
}

bool are_of_one_experiment(const ResultsFolder& a, const ResultsFolder& b) {
  const Json &one = a.run["settings"], &other = b.run["settings"];
  return one["name"] == other["name"] && one["kind"] == other["kind"];
}

}  // namespace

Json report_document(const std::vector<Reported>& reports, const checks::ChangeOptions& options) {
  Json document = {
      {"version", results::version_text()}, {"reports", Json::array()}, {"changes", Json::array()}};
  for (size_t after = 0; after < reports.size(); ++after) {
    document["reports"].push_back(folder_document(reports[after], after + 1));
    for (size_t before = 0; before < after; ++before) {
      if (!are_of_one_experiment(reports[before].folder, reports[after].folder)) continue;
      Json changes = changes_document(reports[before].folder, reports[after].folder, options);
      changes["before"] = before;
      changes["after"] = after;
      document["changes"].push_back(std::move(changes));
      break;
    }
  }
  return document;
}

}  // namespace reprise::app
