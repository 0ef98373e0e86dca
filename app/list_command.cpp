// `reprise list`: the methods, models, workloads and experiments that this program knows.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>

#include "app/commands.h"
#include "app/experiment_files.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/terminal.h"
#include "core/base/error.h"
#include "core/base/fields.h"
#include "core/model/config/config.h"
#include "experiments/kinds/registry.h"
#include "experiments/kinds/shared/places.h"
#include "methods/registry.h"
#include "results/data_dir.h"
#include "results/metric_name.h"
#include "results/provenance.h"
#include "results/table.h"
#include "workloads/arrivals.h"
#include "workloads/registry.h"
#include "workloads/serving/registry.h"

namespace reprise::app {
namespace {

using results::Table;

void show(const std::string& heading, const Table& table) {
  const size_t columns = terminal_columns(stdout);
  const std::string text = table.text(columns);
  print("{}\n{}\n", results::wrapped(heading, columns), text.empty() ? "(none)\n" : text);
}

void list_methods() {
  Table table;
  for (const char* heading : {"method", "exactness", "paper", "what it does"})
    table.column(heading);
  for (const auto& [info, resolve, make, list] : methods::known_methods())
    table.row({info.name, info.exactness == methods::Exactness::kExact ? "exact" : "approximate",
               info.paper.empty() ? "-" : info.paper, info.summary});
  show("Methods", table);
}

// Shows which methods run in which places (kinds of experiments, commands), and why other methods
// do not run there. Places that refuse the same methods for the same reasons share a column.
void list_method_matrix() {
  std::map<std::string, std::vector<std::string>> refusals;  // place -> refusal of each method
  std::vector<std::string> methods, places;
  for (const experiments::MethodCell& cell : experiments::method_matrix()) {
    if (methods.empty() || methods.back() != cell.method) methods.push_back(cell.method);
    if (methods.size() == 1) places.push_back(cell.place);
    refusals[cell.place].push_back(cell.refusal);
  }
  std::vector<std::vector<std::string>> columns;  // the places of each column
  for (const std::string& place : places) {
    const auto same = std::find_if(columns.begin(), columns.end(), [&](const auto& column) {
      return refusals[column.front()] == refusals[place];
    });
    if (same == columns.end())
      columns.push_back({place});
    else
      same->push_back(place);
  }
  Table table;
  table.column("method");
  for (const auto& column : columns)
    table.column(column.size() == 1 ? column.front() : column.front() + " ...");
  std::vector<std::string> reasons;
  for (size_t m = 0; m < methods.size(); ++m) {
    std::vector<std::string> row = {methods[m]};
    for (const auto& column : columns) {
      const std::string& refusal = refusals[column.front()][m];
      if (refusal.empty()) {
        row.emplace_back("yes");
        continue;
      }
      auto known = std::find(reasons.begin(), reasons.end(), refusal);
      if (known == reasons.end()) known = reasons.insert(known, refusal);
      row.push_back(fmt::format("({})", known - reasons.begin() + 1));
    }
    table.row(row);
  }
  show("Where they run", table);
  const size_t width = terminal_columns(stdout);
  for (const auto& column : columns)
    if (column.size() > 1)
      print("{}\n", results::wrapped(
                        fmt::format("{} ...: {}", column.front(), fmt::join(column, ", ")), width));
  for (size_t i = 0; i < reasons.size(); ++i)
    print("{}\n", results::wrapped(fmt::format("({}) {}", i + 1, reasons[i]), width));
  print("{}\n\n",
        results::wrapped("load: no method runs in it. It sends requests to a server, which was "
                         "started with its method (`reprise serve --method NAME`)",
                         width));
}

void list_all_of_methods() {
  list_methods();
  list_method_matrix();
}

// A count as "6.74 B", "15.2 M" or "260 k".
std::string count_text(double count) {
  for (const auto& [unit, name] : {std::pair{1e9, "B"}, std::pair{1e6, "M"}, std::pair{1e3, "k"}})
    if (count >= unit) return results::short_number(count / unit) + " " + name;
  return results::short_number(count);
}

void add_model(Table& table, const std::string& name, const char* weights,
               const model::ModelConfig& config) {
  table.row({name, weights, count_text(static_cast<double>(config.parameters())),
             std::to_string(config.layers), std::to_string(config.hidden),
             std::to_string(config.heads), std::to_string(config.kv_heads),
             std::to_string(config.default_tokens())});
}

void list_models() {
  Table table;
  for (const char* heading : {"model", "weights"}) table.column(heading);
  for (const char* heading : {"parameters", "layers", "hidden", "heads", "kv heads", "tokens"})
    table.column(heading, Table::Align::kRight);
  for (const std::filesystem::path& dir : experiments::shipped_models())
    add_model(table, dir.string(), "trained", model::load_config(results::data_dir() / dir));
  for (const std::string& name : model::shipped_shapes())
    add_model(table, name, "random", model::load_config(name));
  show("Models (and any folder with config.json, *.safetensors and a tokenizer)", table);
}

void list_experiments() {
  Table table;
  for (const char* heading : {"experiment", "kind", "paper", "title"}) table.column(heading);
  for (const std::filesystem::path& path : shipped_experiments()) {
    const Value file = read_json(results::data_dir() / path);
    JsonObject reader(file, path.string());
    const std::string figure = reader.string("figure", "");
    const std::string paper = reader.string("paper", "-") + (figure.empty() ? "" : ", " + figure);
    table.row({path.string(), reader.string("kind"), paper, reader.string("title")});
  }
  show("Experiments (run one with: reprise run FILE)", table);
}

void list_workloads() {
  Table table;
  for (const char* heading : {"workload", "what it is"}) table.column(heading);
  for (const workloads::WorkloadInfo& info : workloads::known_workloads())
    table.row({info.name, info.summary + (info.takes_file ? " (takes \"file\")" : "")});
  show("Workloads", table);
}

void list_arrivals() {
  Table table;
  for (const char* heading : {"arrivals", "what they are"}) table.column(heading);
  for (const workloads::ArrivalInfo& info : workloads::known_arrivals())
    table.row({info.name, info.summary});
  show("Arrivals", table);
}

void list_sources() {
  Table table;
  for (const char* heading : {"source", "file", "what is asked"}) table.column(heading);
  for (const workloads::SourceInfo& info : workloads::known_request_sources()) {
    const char* file = info.file == workloads::FileUse::kNeeded     ? "yes"
                       : info.file == workloads::FileUse::kOptional ? "if given"
                                                                    : "-";
    table.row({info.name, file, info.summary});
  }
  show("Sources of requests for a server (the options of one: reprise list SOURCE)", table);
}

std::string accepted_text(const workloads::SourceField& field) {
  if (!std::holds_alternative<std::string workloads::SourceOptions::*>(field.member))
    return fmt::format("{} to {}", field.low, field.high);
  return field.words.empty() ? "any text" : fmt::format("{}", fmt::join(field.words, ", "));
}

// Lists the options of one method, series or source; `title` names it and says what it is.
void list_options(const std::string& title, const reuse::OptionList& list) {
  Table options;
  options.column("  option");
  options.column("default", Table::Align::kRight);
  for (const char* heading : {"accepted", "unit", "meaning"}) options.column(heading);
  for (const reuse::OptionInfo& option : list.options)
    options.row({"  " + option.name, option.fallback, option.accepted, option.unit, option.help});
  show(title, options);
  if (list.presets.empty()) return;
  Table presets;
  for (const char* heading : {"  preset", "sets", "meaning"}) presets.column(heading);
  for (const reuse::PresetInfo& preset : list.presets)
    presets.row({"  " + preset.name, preset.changes.empty() ? "-" : json_text(preset.changes),
                 preset.help});
  show(
      "Presets (option \"preset\"; the first is the default, and other options replace what one "
      "sets)",
      presets);
}

void list_source(const workloads::SourceInfo& info) {
  reuse::OptionList list;
  const workloads::SourceOptions defaults;
  for (const workloads::SourceField& field : workloads::source_fields()) {
    if (!info.takes(field.name)) continue;
    const auto text = [&](auto member) { return fmt::format("{}", defaults.*member); };
    list.options.push_back({.name = std::string(field.name),
                            .fallback = std::visit(text, field.member),
                            .accepted = accepted_text(field),
                            .unit = std::string(field.unit),
                            .help = std::string(field.help)});
  }
  list_options("Source " + info.name + ": " + info.summary, list);
}

// The metric's help, with the percentiles that a table's "metrics" and a figure's "y" accept, or
// with the condition under which it is measured.
std::string metric_help(const MetricInfo& metric) {
  if (metric.is_on_request)
    return metric.help + "; taken where the \"metrics\" or a figure of the experiment name it";
  if (!metric.has_percentiles) return metric.help;
  return fmt::format("{}; percentiles: {}.{}", metric.help, metric.name,
                     fmt::join(results::percentile_names(), ", ."));
}

void list_kind(const experiments::KindInfo& kind) {
  Table table;
  table.column("  " + kind.name);
  table.column("default", Table::Align::kRight);
  for (const char* heading : {"accepted", "unit", "meaning"}) table.column(heading);
  for (const experiments::Axis& axis : kind.axes)
    table.row(
        {"  axis " + axis.name, axis.fallback.text(), axis.accepted_text(), axis.unit, axis.help});
  for (const MetricInfo& metric : kind.metrics)
    table.row({"  metric " + metric.name, "", "", metric.unit, metric_help(metric)});
  for (const experiments::Series& series : kind.series)
    table.row({"  series " + series.name, "", "", "", series.help});
  for (const workloads::WorkloadInfo& workload : kind.own_workloads)
    table.row({"  workload " + workload.name, "", "", "", workload.summary});
  show("Kind " + kind.name + ": " + kind.summary, table);
}

void list_kinds() {
  for (const experiments::KindInfo& kind : experiments::known_kinds()) list_kind(kind);
}

void list_libraries() {
  Table table;
  for (const char* heading : {"library", "version"}) table.column(heading);
  for (const auto& [name, version] : results::provenance().libraries)
    table.row({name, version.is_text() ? version.text() : shown(version)});
  show("Libraries this program was built with (./setup.sh --torch installs libtorch)", table);
}

void list(const std::string& what) {
  const std::vector<std::pair<std::string, void (*)()>> lists = {{"methods", list_all_of_methods},
                                                                 {"models", list_models},
                                                                 {"experiments", list_experiments},
                                                                 {"workloads", list_workloads},
                                                                 {"sources", list_sources},
                                                                 {"arrivals", list_arrivals},
                                                                 {"kinds", list_kinds},
                                                                 {"libraries", list_libraries}};
  std::vector<std::string> names;
  bool is_known = what.empty();
  for (const methods::MethodEntry& entry : methods::known_methods()) {
    names.push_back(entry.info.name);
    if (entry.info.name == what)
      return list_options("Method " + entry.info.name + ": " + entry.info.summary,
                          entry.list_options());
  }
  for (const experiments::KindInfo& kind : experiments::known_kinds()) {
    names.push_back(kind.name);
    if (kind.name == what) return list_kind(kind);
    for (const experiments::Series& series : kind.series) {
      if (!series.list_options) continue;
      names.push_back(series.name);
      if (series.name == what)
        return list_options("Series " + series.name + ": " + series.help, series.list_options());
    }
  }
  for (const workloads::SourceInfo& info : workloads::known_request_sources()) {
    names.push_back(info.name);
    if (info.name == what) return list_source(info);
  }
  for (const auto& [name, show_list] : lists) {
    names.push_back(name);
    if (!what.empty() && what != name) continue;
    show_list();
    is_known = true;
  }
  if (is_known) return;
  // Several kinds may have a series of the same name.
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  raise("{}", unknown_name("list", what, names));
}

}  // namespace

void add_list_command(CLI::App& app) {
  auto what = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "list",
      "Show what there is by name: methods, models, experiments, workloads, sources, arrivals, "
      "kinds, libraries");
  command
      ->add_option("what", *what,
                   "one of these lists (default: all), a method or a series (its options and "
                   "presets), an experiment kind (its axes, metrics and series) or a source (its "
                   "options)")
      ->check(not_empty());
  command->callback([what] { list(*what); });
}

}  // namespace reprise::app
