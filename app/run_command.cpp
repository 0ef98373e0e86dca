// `reprise run`: measures an experiment, prints its table, draws its figures.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/exit_status.h"
#include "app/experiment_files.h"
#include "app/interrupt.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/progress.h"
#include "app/python.h"
#include "app/record_table.h"
#include "app/terminal.h"
#include "core/base/error.h"
#include "core/device/machine_probe.h"
#include "core/kernels/fetch_calibration.h"
#include "experiments/framework/check_groups.h"
#include "experiments/framework/runner.h"
#include "experiments/framework/shard.h"
#include "experiments/kinds/registry.h"
#include "experiments/kinds/sources.h"
#include "results/drawing.h"
#include "results/manifest.h"
#include "results/table.h"

namespace reprise::app {
namespace {

struct RunCommand {
  std::string file;
  std::string scale = "desk";
  std::vector<std::string> overrides;
  std::string out;
  std::string shard;
  bool fresh = false, mix = false, no_plot = false, dry_run = false;
  TableOptions table;
};

void print_plan(const std::vector<experiments::Group>& groups, const experiments::Shard& shard) {
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t i = 0; shard.takes(g) && i < groups[g].point_ids.size(); ++i)
      print("{}  {} {}\n", groups[g].point_ids[i], groups[g].label,
            experiments::label_of(groups[g].methods[i]));
}

// False where it failed, which costs no measurement; what is wrong is said. An interrupt ends the
// Python that draws too, and is no fault of the figures.
bool draw_or_explain(const results::ResultsFolder& folder, const std::filesystem::path& out,
                     const std::atomic<bool>& stop) {
  try {
    draw_figures(results::figures_document(folder), out);
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

// What was asked for, else the rank that mpirun or srun gave this process, else the whole.
experiments::Shard shard_of(const RunCommand& command) {
  if (!command.shard.empty()) return experiments::parse_shard(command.shard);
  return experiments::shard_of_rank([](const char* name) { return std::getenv(name); });
}

// The table of what is there, and the figures where nothing is missing. False where they could not
// be drawn.
bool show_results(const experiments::RunOutcome& outcome, const Json& manifest,
                  const std::filesystem::path& out, const RunCommand& command,
                  const std::atomic<bool>& stop) {
  const results::ResultsFolder folder{.source = out.string(),
                                      .run = manifest,
                                      .records = outcome.records,
                                      .skipped = outcome.skipped};
  TableOptions table = command.table;
  table.columns = output_columns(stdout);
  print_table(record_table(folder, table), table);
  note("records in {}\n", out.string());
  flush_output();  // before the figures' names, which Python prints
  if (!outcome.is_complete()) {
    note("{} of {} points are there; the figures are drawn when all are\n",
         outcome.records.size() + outcome.skipped.size(), outcome.points);
    return true;
  }
  const bool has_figures =
      !command.no_plot && !folder.run["plots"].empty() && !folder.records.empty();
  return !has_figures || draw_or_explain(folder, out / "figures", stop);
}

Json measured_machine(const Context& context) {
  Json machine = machine_json(context, machine_limits(context));
  machine["fetch"] = kernels::calibrate_fetch(context);
  return machine;
}

void run(const RunCommand& command, const CommonOptions& common) {
  const Context context = make_context(common);
  const experiments::Shard shard = shard_of(command);
  experiments::Experiment experiment =
      experiments::load_experiment(find_experiment(command.file), command.scale, command.overrides,
                                   experiments::known_vocabulary());
  const auto kind = experiments::make_kind(experiment.kind.name, context);
  experiments::leave_out_missing(experiment, *kind);
  const experiments::RunOptions options{
      .out = command.out.empty() ? "out/" + experiment.name + "/" + experiment.scale : command.out,
      .fresh = command.fresh,
      .mix = command.mix,
      .settings = {.context = context, .device = Device::kCpu},
      .measure_machine = [&] { return measured_machine(context); },
      .sources = experiments::sources_of(experiment),
      .shard = shard};
  const auto groups = experiments::expand(experiment, options.settings);
  // What no table could print or no figure could be called is found before anything is measured.
  const Json manifest = results::checked_manifest(
      experiments::manifest(experiment, options.settings, groups), command.file);
  const bool draws = !command.no_plot && !experiment.plots.empty() && shard.tells_results();
  if (draws) check_plot_python();
  if (command.dry_run) {
    experiments::check_groups(groups, *kind);
    return print_plan(groups, shard);
  }

  const size_t columns = output_columns(stderr);
  for (const std::string& text : {experiment.title, experiment.note})
    if (!text.empty())
      note("{}\n", results::wrapped(experiments::filled(text, experiment), columns));
  note("{}", left_out_note(manifest));
  const std::atomic<bool>& stop = watch_interrupts();
  Progress progress(stderr, isatty(STDERR_FILENO) != 0);
  experiments::RunOutcome outcome;
  try {
    outcome = experiments::run_experiment(experiment, options, *kind, progress, stop);
  } catch (...) {
    progress.end();
    throw;
  }
  progress.end();
  if (outcome.was_interrupted) {
    note("interrupted: {} of {} points are safe in {}. The same command goes on from there.\n",
         outcome.records.size(), outcome.points, options.out.string());
    throw ExitStatus{kInterruptedStatus};
  }
  if (!shard.is_whole())
    note("{}: {} points measured by this process\n", shard.text(), outcome.measured);
  const bool is_drawn =
      !shard.tells_results() || show_results(outcome, manifest, options.out, command, stop);
  if (!outcome.skipped.empty()) {
    note(
        "{} of {} points were skipped: they do not fit into memory. The same command on a larger "
        "machine measures them.\n",
        outcome.skipped.size(), outcome.points);
    throw ExitStatus{kSkippedStatus};
  }
  if (!is_drawn) throw ExitStatus{kNoFigureStatus};
}

}  // namespace

void add_run_command(CLI::App& app) {
  auto options = std::make_shared<RunCommand>();
  CLI::App* command = app.add_subcommand(
      "run", "Run an experiment file; a run that was stopped or killed goes on where it was");
  command
      ->add_option("experiment", options->file, "a file, or the name of a shipped one (quickstart)")
      ->required()
      ->check(not_empty());
  command->add_option("--scale", options->scale, "how big: smoke, desk or paper (default: desk)")
      ->check(not_empty());
  command
      ->add_option("--set", options->overrides,
                   "override a key of the file: --set repetitions=3 --set dtypes=f32,bf16 --set "
                   "sweep.prompt_tokens=8,16")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  command->add_option("--out", options->out, "folder of the results (default: out/NAME/SCALE)")
      ->check(not_empty());
  command
      ->add_option("--shard", options->shard,
                   "measure the i-th of n parts, as in --shard 2/4, beside other processes with "
                   "the same --out; ranks under mpirun or srun share the points without it")
      ->check(not_empty());
  command->add_flag("--fresh", options->fresh, "set older results in that folder aside first");
  command->add_flag("--mix", options->mix,
                    "go on in a folder of another code revision, machine or weights all the same, "
                    "and mark the records");
  command->add_flag("--no-plot", options->no_plot, "draw no figures at the end");
  command->add_flag("--dry-run", options->dry_run,
                    "check and print the points, and measure nothing");
  add_table_options(*command, options->table);
  const auto common = add_common_options(*command);
  command->callback([options, common] { run(*options, *common); });
}

}  // namespace reprise::app
