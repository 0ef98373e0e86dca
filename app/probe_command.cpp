// `reprise probe`: what this machine can do at most.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/output.h"
#include "core/device/machine_probe.h"
#include "core/kernels/fetch_calibration.h"
#include "results/table.h"

namespace reprise::app {
namespace {

void print_facts(const Context& context, const MachineLimits& limits) {
  const CpuFacts& cpu = cpu_facts();
  print("{}\n{} logical cores, {} threads used, instruction set {}\n\n", cpu.model,
        cpu.logical_cores, context.threads, name_of(context.isa));
  results::Table table;
  table.column("limit");
  table.column("measured", results::Table::Align::kRight);
  table.column("unit");
  table.row({"DRAM read", results::short_number(limits.dram_read_gb_s), "GB/s"});
  table.row({"L3 read", results::short_number(limits.l3_read_gb_s), "GB/s"});
  table.row({"L2 read", results::short_number(limits.l2_read_gb_s), "GB/s"});
  table.row({"f32 multiply-add", results::short_number(limits.f32_gflop_s), "GFLOP/s"});
  table.row({"bf16 dot product", results::short_number(limits.bf16_gflop_s), "GFLOP/s"});
  print("{}\nmeasured in {:.1f} s; each figure is the best of several trials\n", table.text(),
        limits.elapsed_s);
}

// What attention of few rows over keys in memory reached.
void print_fetch(const Context& context) {
  for (const DType dtype : {DType::kBF16, DType::kF32}) {
    const kernels::FetchCalibration found = kernels::calibrate_fetch(dtype, context);
    results::Table table;
    table.column(fmt::format("fetching {} keys ahead", name_of(dtype)));
    table.column("read", results::Table::Align::kRight);
    table.column("unit");
    for (const kernels::FetchTrial& trial : found.trials)
      table.row({text_of(trial.setting), results::short_number(trial.read_gb_s), "GB/s"});
    print("\n{}chosen: {} ({})\n", found.trials.empty() ? "" : table.text() + "\n",
          text_of(found.chosen), found.reason);
  }
}

}  // namespace

void add_probe_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "probe", "Measure this machine's limits: memory bandwidth and arithmetic rate");
  auto is_json = std::make_shared<bool>(false);
  command->add_flag("--json", *is_json, "print the facts and limits as records keep them");
  const auto common = add_common_options(*command);
  command->callback([is_json, common] {
    const Context context = make_context(*common);
    const MachineLimits limits = probe_machine(context);
    if (*is_json) {
      Json machine = machine_json(context, limits);
      machine["fetch"] = kernels::calibrate_fetch(context);
      write_output(machine.dump(2) + "\n");
    } else {
      print_facts(context, limits);
      print_fetch(context);
    }
  });
}

}  // namespace reprise::app
