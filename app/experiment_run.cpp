#include "app/experiment_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "app/exit_status.h"
#include "app/experiment_files.h"
#include "app/interrupt.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/progress.h"
#include "app/python.h"
#include "app/terminal.h"
#include "core/base/error.h"
#include "experiments/kinds/registry.h"
#include "experiments/kinds/sources.h"
#include "experiments/serving/trace_writer.h"
#include "results/catalogue.h"
#include "results/drawing.h"
#include "results/manifest.h"
#include "results/metric_name.h"
#include "results/table.h"

namespace reprise::app {
namespace {

bool draws_figures(const experiments::Experiment& experiment,
                   const experiments::RunOptions& options, const ExperimentOptions& chosen) {
  return !chosen.no_plot && !experiment.plots.empty() && options.shard.tells_results();
}

// " Fetch them: reprise data get NAME ...", with the catalogue's entries of `missing`; "" if it has
// none.
std::string fetch_command(const std::vector<std::string>& missing) {
  std::vector<std::string> names;
  for (const std::string& input : missing)
    if (const auto entry = results::catalogue_entry(input);
        entry && std::find(names.begin(), names.end(), entry->name) == names.end())
      names.push_back(entry->name);
  if (names.empty()) return "";
  return fmt::format(" Fetch them: reprise data get {}", fmt::join(names, " "));
}

// Throws Error for an unknown --format, and for --metrics that this kind does not measure, or not
// unless the experiment asks for them. `asked_for` are those that the experiment asks for.
void check_table(const experiments::Experiment& experiment,
                 const std::vector<std::string>& asked_for, const TableOptions& table) {
  (void)parse_table_format(table.format);
  if (table.metrics.empty() || table.metrics == "all") return;
  for (const std::string& name : named_metrics(table.metrics, experiment.kind.metric_names())) {
    const std::string metric = results::split_metric_name(name).metric;
    for (const MetricInfo& info : experiment.kind.metrics)
      if (info.name == metric && info.is_on_request &&
          std::find(asked_for.begin(), asked_for.end(), metric) == asked_for.end())
        raise(
            "--metrics {}: {} takes extra time, so it is measured only on request. Ask for it: "
            "--set metrics={}{}{}",
            table.metrics, metric, fmt::join(experiment.metrics, ","),
            experiment.metrics.empty() ? "" : ",", metric);
  }
}

// Draws the figures. If they cannot be drawn, prints the reason and returns false; the measurements
// are kept. An interrupt also ends the Python process that draws; then throws ExitStatus.
bool draw_or_explain(const results::ResultsFolder& folder, const std::filesystem::path& out,
                     const std::atomic<bool>& stop) {
  try {
    Fields document = results::figures_document(folder);
    document["looks"] = experiments::method_looks();
    draw_figures(document, out);
    return true;
  } catch (const OutputError&) {
    throw;
  } catch (const Error& error) {
    if (stop) {
      note("interrupted: the measurements are safe in {}. reprise plot draws their figures.\n",
           folder.source);
      throw ExitStatus{kInterruptedStatus};
    }
    note("reprise: {}\nThe measurements are safe in {}.\n", error.what(), folder.source);
    return false;
  }
}

// Prints the table of the measured points. Draws the figures if no point is missing and the run was
// not interrupted. Returns false if the figures could not be drawn.
bool show_results(const experiments::RunOutcome& outcome, const experiments::KindInfo& kind,
                  const results::Manifest& manifest, const std::filesystem::path& out,
                  const ExperimentOptions& chosen, const std::atomic<bool>& stop) {
  const results::ResultsFolder folder{.source = out.string(),
                                      .run = manifest,
                                      .records = outcome.records,
                                      .skipped = outcome.skipped};
  TableOptions table = chosen.table;
  table.columns = output_columns(stdout);
  table.known = kind.metric_names();
  print_table(record_table(folder, table), table);
  note("records in {}\n", out.string());
  flush_output();  // before the figures' names, which Python prints
  if (outcome.was_interrupted) return true;
  if (!outcome.is_complete()) {
    note("{} of {} points are there; the figures are drawn when all are\n",
         outcome.records.size() + outcome.skipped.size(), outcome.points);
    return true;
  }
  const bool has_figures = !chosen.no_plot && !folder.run.plots.empty() && !folder.records.empty();
  return !has_figures || draw_or_explain(folder, out / "figures", stop);
}

void introduce(const experiments::Experiment& experiment, const results::Manifest& manifest) {
  const size_t columns = output_columns(stderr);
  for (const std::string& text : {experiment.title, experiment.note})
    if (!text.empty())
      note("{}\n", results::wrapped(experiments::filled(text, experiment), columns));
  note("{}", left_out_note(manifest));
}

// Makes the kind write its runs to the file of --trace. Throws Error for a kind without requests.
std::unique_ptr<experiments::serving::TraceWriter> traced(const experiments::Experiment& experiment,
                                                          experiments::Kind& kind,
                                                          const ExperimentOptions& chosen) {
  if (chosen.trace.empty()) return nullptr;
  auto* of_requests = dynamic_cast<experiments::serving::TracedKind*>(&kind);
  if (of_requests == nullptr)
    raise("--trace: kind \"{}\" serves no requests; kind \"serving\" does", experiment.kind.name);
  auto writer = std::make_unique<experiments::serving::TraceWriter>(chosen.trace);
  of_requests->trace_to(*writer);
  return writer;
}

// Runs the experiment and shows its progress. Says how to go on if the run is interrupted.
experiments::RunOutcome measured(const experiments::Experiment& experiment,
                                 const experiments::Plan& plan,
                                 const experiments::RunOptions& options, experiments::Kind& kind,
                                 const std::atomic<bool>& stop) {
  Progress progress(stderr, isatty(STDERR_FILENO) != 0);
  // The first rank shows what all ranks measure; other ranks show nothing.
  experiments::RunObserver silent;
  experiments::RunObserver& observer = options.shard.tells_results() ? progress : silent;
  experiments::RunOutcome outcome;
  try {
    outcome = experiments::run_experiment(experiment, plan, options, kind, observer, stop);
  } catch (...) {
    progress.end();
    throw;
  }
  progress.end();
  // Says so before the table is printed, since an interrupt ends a `| tee` as well, and then
  // printing the table fails.
  if (outcome.was_interrupted)
    note("interrupted: {} of {} points are safe in {}. {} goes on from there.\n",
         outcome.records.size(), outcome.points, options.out.string(),
         experiments::command_that_goes_on(options));
  return outcome;
}

}  // namespace

void add_experiment_options(CLI::App& command, const char* default_out,
                            ExperimentOptions& options) {
  command
      .add_option("experiment", options.file, "a file, or the name of a shipped one (quickstart)")
      ->required()
      ->check(not_empty());
  command.add_option("--scale", options.scale, "how big: smoke, desk or paper (default: desk)")
      ->check(not_empty());
  command
      .add_option("--set", options.overrides,
                  "override a key of the file: --set repetitions=3 --set dtypes=f32,bf16 --set "
                  "sweep.prompt_tokens=8,16")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  command
      .add_option("--out", options.out,
                  fmt::format("folder of the results (default: {})", default_out))
      ->check(not_empty());
  command.add_flag("--fresh", options.fresh, "set older results in that folder aside first");
  command.add_flag("--mix", options.mix,
                   "go on in a folder of another code revision, machine or weights all the same, "
                   "and mark the records");
  command
      .add_option(
          "--trace", options.trace,
          "file that gets the runs which are measured now as trace events, for Perfetto: "
          "each request's queueing, prefill and decoding, the engine's steps and the kernels")
      ->check(not_empty());
  command.add_flag("--no-plot", options.no_plot, "draw no figures at the end");
  add_table_options(command, options.table);
}

experiments::Experiment load_chosen_experiment(const ExperimentOptions& options) {
  const auto load = [&, path = find_experiment(options.file)](experiments::Inputs inputs) {
    return experiments::load_experiment(path, options.scale, options.overrides,
                                        experiments::known_vocabulary(), inputs);
  };
  experiments::Experiment named = load(experiments::Inputs::kNamed);
  if (!named.has_stand_in) return named;
  const std::vector<std::string> missing = experiments::missing_inputs(named);
  if (missing.empty()) return named;
  note("not here: {}. What stands in for them runs.{}\n", fmt::join(missing, ", "),
       fetch_command(missing));
  return load(experiments::Inputs::kStandIn);
}

experiments::Plan checked_plan(const experiments::Experiment& experiment,
                               const experiments::RunOptions& options,
                               const ExperimentOptions& chosen) {
  experiments::Plan plan = experiments::plan(experiment, options.settings);
  results::check_made_manifest(plan.manifest, chosen.file);
  check_table(experiment, plan.manifest.settings.asked_for, chosen.table);
  if (draws_figures(experiment, options, chosen)) check_plot_python();
  return plan;
}

ShownRun measure_and_show(const experiments::Experiment& experiment, const experiments::Plan& plan,
                          const experiments::RunOptions& options, experiments::Kind& kind,
                          const ExperimentOptions& chosen) {
  introduce(experiment, plan.manifest);
  const std::atomic<bool>& stop = watch_interrupts();
  const auto trace = traced(experiment, kind, chosen);
  ShownRun shown{.outcome = measured(experiment, plan, options, kind, stop)};
  const experiments::RunOutcome& outcome = shown.outcome;
  if (trace != nullptr) trace->finish();
  const experiments::Shard& shard = options.shard;
  if (!shard.is_whole())
    note("{}: {} points measured by this process\n", shard.text(), outcome.measured);
  const bool has_table =
      shard.tells_results() && !(outcome.was_interrupted && outcome.records.empty());
  const bool is_drawn = !has_table || show_results(outcome, experiment.kind, plan.manifest,
                                                   options.out, chosen, stop);
  if (outcome.was_interrupted) throw ExitStatus{kInterruptedStatus};
  if (!outcome.skipped.empty()) {
    note(
        "{} of {} points were skipped: they do not fit into memory. The same command measures them "
        "if more memory is free; on another machine, choose another --out.\n",
        outcome.skipped.size(), outcome.points);
    shown.status = kSkippedStatus;
  } else if (!is_drawn) {
    shown.status = kNoFigureStatus;
  }
  return shown;
}

}  // namespace reprise::app
