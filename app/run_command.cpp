// `reprise run`: measures an experiment, prints its table, draws its figures.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/exit_status.h"
#include "app/experiment_files.h"
#include "app/interrupt.h"
#include "app/progress.h"
#include "app/python.h"
#include "app/record_table.h"
#include "core/base/error.h"
#include "core/device/machine_probe.h"
#include "experiments/kinds/registry.h"
#include "experiments/framework/runner.h"
#include "results/paper_numbers.h"

namespace reprise::app {
namespace {

struct RunCommand {
  std::string file;
  std::string scale = "desk";
  std::vector<std::string> overrides;
  std::string out;
  bool fresh = false, no_plot = false, dry_run = false;
};

void print_plan(const std::vector<experiments::Group>& groups) {
  for (const experiments::Group& group : groups)
    for (size_t i = 0; i < group.point_ids.size(); ++i)
      fmt::print("{}  {} {}\n", group.point_ids[i], group.label,
                 experiments::label_of(group.methods[i]));
}

void draw_or_explain(const std::string& out) {
  try {
    draw_figures(out);
  } catch (const Error& error) {
    fmt::print(stderr, "note: {}\n", error.what());
  }
}

void run(const RunCommand& command, const CommonOptions& common) {
  const Context context = make_context(common);
  experiments::Experiment experiment =
      experiments::load_experiment(find_experiment(command.file), command.scale, command.overrides,
                                   experiments::known_vocabulary());
  const auto kind = experiments::make_kind(experiment.kind.name, context);
  experiments::leave_out_missing(experiment, *kind);
  const experiments::RunOptions options{
      .out = command.out.empty() ? "out/" + experiment.name + "/" + experiment.scale : command.out,
      .fresh = command.fresh,
      .settings = {.context = context, .device = Device::kCpu},
      .measure_machine = [&] { return machine_json(context, machine_limits(context)); }};
  const auto groups = experiments::expand(experiment, options.settings);
  if (command.dry_run) return print_plan(groups);

  fmt::print(stderr, "{}\n", experiment.title);
  if (!experiment.note.empty()) fmt::print(stderr, "{}\n", experiment.note);
  const Json manifest = experiments::manifest(experiment, options.settings, groups);
  fmt::print(stderr, "{}", left_out_note(manifest));
  Progress progress(stderr, isatty(STDERR_FILENO) != 0);
  experiments::RunOutcome outcome;
  try {
    outcome = experiments::run_experiment(experiment, options, *kind, progress, watch_interrupts());
  } catch (...) {
    progress.end();
    throw;
  }
  progress.end();
  if (outcome.was_interrupted) {
    fmt::print(
        stderr,
        "interrupted: {} of {} points are safe in {}. The same command goes on from there.\n",
        outcome.records.size(), outcome.points, options.out.string());
    throw ExitStatus{kInterruptedStatus};
  }
  fmt::print("{}\nrecords: {}\n", record_table(outcome.records, manifest),
             (options.out / "records.jsonl").string());
  std::fflush(stdout);
  results::write_paper_points(options.out, manifest, outcome.records);
  if (!command.no_plot && !experiment.plots.empty()) draw_or_explain(options.out.string());
}

}  // namespace

void add_run_command(CLI::App& app) {
  auto options = std::make_shared<RunCommand>();
  CLI::App* command = app.add_subcommand(
      "run", "Run an experiment file; a run that was stopped or killed goes on where it was");
  command
      ->add_option("experiment", options->file, "a file, or the name of a shipped one (quickstart)")
      ->required();
  command->add_option("--scale", options->scale, "how big: smoke, desk or paper (default: desk)");
  command
      ->add_option(
          "--set", options->overrides,
          "override a key of the file: --set repetitions=3 --set sweep.prompt_tokens=[8,16]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  command->add_option("--out", options->out, "folder of the results (default: out/NAME/SCALE)");
  command->add_flag("--fresh", options->fresh, "set older results in that folder aside first");
  command->add_flag("--no-plot", options->no_plot, "draw no figures at the end");
  command->add_flag("--dry-run", options->dry_run, "print the points and measure nothing");
  const auto common = add_common_options(*command);
  command->callback([options, common] { run(*options, *common); });
}

}  // namespace reprise::app
