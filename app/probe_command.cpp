// `reprise probe`: measures the limits of this machine.
#include <CLI/CLI.hpp>
#include <utility>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/output.h"
#include "core/base/fields.h"
#include "core/base/json.h"
#include "core/device/machine_probe.h"
#include "core/kernels/attention/fetch_calibration.h"
#include "core/kernels/device/measure_device.h"
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

void print_device(const MachineDevice& device) {
  const Fields& state = device.state;
  print("{}, compute capability {}, {} SMs, {:.1f} GiB\n", device.name, device.compute_capability,
        device.sms.value_or(0), static_cast<double>(device.memory_bytes.value_or(0)) / 0x1p30);
  if (state.contains("absent"))
    print("clocks unknown: {}\n\n", text_of(state, "absent"));
  else
    print("SM clock {} of {} MHz, {:.0f} of {:.0f} W, held down by: {}\n\n",
          state.at("sm_mhz").integer(), state.at("most_sm_mhz").integer(),
          state.at("power_w").number(), state.at("power_limit_w").number(),
          state.at("throttled_by").list().empty() ? "nothing" : shown(state.at("throttled_by")));
  results::Table table;
  table.column("limit of the GPU");
  table.column("measured", results::Table::Align::kRight);
  table.column("unit");
  const auto row = [&](const char* what, const char* key, const char* unit) {
    table.row({what, results::short_number(device.limit(key)), unit});
  };
  row("memory, copied", "copy_gb_s", "GB/s");
  row("memory, read", "read_gb_s", "GB/s");
  row("L2, read", "l2_read_gb_s", "GB/s");
  row("bf16 product", "half_tflop_s", "TFLOP/s");
  row("a further kernel", "launch_us", "us");
  row("a kernel and waiting for it", "round_trip_us", "us");
  print("{}\n", table.text());
}

// Prints the bandwidth that attention of few rows over keys in memory reached.
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
    Context context = make_context(*common);
    const std::optional<MachineDevice> device = kernels::measure_device(context.runtime);
    context = on_cpu(std::move(context));  // whose limits come next
    const MachineLimits limits = probe_machine(context);
    if (*is_json) {
      Machine machine = machine_of(context, limits);
      machine.fetch = kernels::calibrate_fetch(context);
      machine.device = device;
      write_output(json_text(written_fields(machine), /*indent=*/2) + "\n");
    } else {
      if (device) print_device(*device);
      print_facts(context, limits);
      print_fetch(context);
    }
  });
}

}  // namespace reprise::app
