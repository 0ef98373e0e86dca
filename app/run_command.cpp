// `reprise run`: measures an experiment, prints its table and draws its figures.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <utility>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/exit_status.h"
#include "app/experiment_run.h"
#include "app/measured_machine.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/record_table.h"
#include "experiments/framework/check_groups.h"
#include "experiments/framework/shard.h"
#include "experiments/framework/sweep.h"
#include "experiments/kinds/registry.h"
#include "experiments/kinds/sources.h"

namespace reprise::app {
namespace {

struct RunCommand {
  ExperimentOptions chosen;
  std::string shard;
  bool dry_run = false;
};

void print_plan(const std::vector<experiments::Group>& groups, const experiments::Shard& shard) {
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t i = 0; shard.takes(g) && i < groups[g].point_ids.size(); ++i)
      print("{}  {} {}\n", groups[g].point_ids[i], groups[g].label,
            experiments::label_of(groups[g].methods[i]));
}

// Returns the shard of --shard. Without --shard, returns the shard of this process's rank if mpirun
// or srun started it, or else the whole sweep.
experiments::Shard shard_of(const RunCommand& command) {
  if (!command.shard.empty()) return experiments::parse_shard(command.shard);
  return experiments::shard_of_rank([](const char* name) { return std::getenv(name); });
}

void run(const RunCommand& command, const CommonOptions& common) {
  const ExperimentOptions& chosen = command.chosen;
  const Context context = make_context(common);
  const experiments::Shard shard = shard_of(command);
  experiments::Experiment experiment = load_chosen_experiment(chosen);
  const auto kind = experiments::make_kind(experiment.kind.name, context);
  experiments::leave_out_missing(experiment, *kind);
  const experiments::RunOptions options{
      .out = chosen.out.empty() ? "out/" + experiment.name + "/" + experiment.scale : chosen.out,
      .fresh = chosen.fresh,
      .mix = chosen.mix,
      .settings = {.context = context, .device = context.device},
      .gpu = context.runtime != nullptr ? context.runtime->description() : "",
      .measure_machine = [&] { return measured_machine(context, common); },
      .fresh_machine = common.fresh_calibration,
      .sources = experiments::sources_of(experiment),
      .shard = shard,
      .available_bytes = [&] { return available_bytes_for(context); }};
  const experiments::Plan plan = checked_plan(experiment, options, chosen);
  if (command.dry_run) {
    note("{}", left_out_note(plan.manifest));
    print_plan(plan.groups, shard);
    return experiments::check_groups(plan.groups, *kind);
  }
  const int status = measure_and_show(experiment, plan, options, *kind, chosen).status;
  if (status != 0) throw ExitStatus{status};
}

}  // namespace

void add_run_command(CLI::App& app) {
  auto options = std::make_shared<RunCommand>();
  CLI::App* command = app.add_subcommand(
      "run", "Run an experiment file; a run that was stopped or killed goes on where it was");
  add_experiment_options(*command, "out/NAME/SCALE", options->chosen);
  command
      ->add_option("--shard", options->shard,
                   "measure the i-th of n parts, as in --shard 2/4, beside other processes with "
                   "the same --out; ranks under mpirun or srun share the points without it")
      ->check(not_empty());
  command->add_flag("--dry-run", options->dry_run,
                    "print the points, then check them, and measure nothing");
  const auto common = add_computing_options(*command);
  command->callback([options, common] { run(*options, *common); });
}

}  // namespace reprise::app
