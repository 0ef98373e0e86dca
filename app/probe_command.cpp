// `reprise probe`: measures the limits of this machine.
#include <CLI/CLI.hpp>
#include <utility>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/kept_calibration.h"
#include "app/measured_machine.h"
#include "app/output.h"
#include "core/base/fields.h"
#include "core/base/json.h"
#include "core/device/machine_probe.h"
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
  table.row({"bf16 products", results::short_number(limits.bf16_gflop_s), "GFLOP/s"});
  print("{}\nmeasured in {:.1f} s; each figure is the best of several trials\n", table.text(),
        limits.elapsed_s);
}

// Returns the number, or "unknown" for the -1 of a driver that does not tell it.
std::string told(const Value& value) {
  return value.number() < 0 ? "unknown" : fmt::format("{:.0f}", value.number());
}

void print_device(const MachineDevice& device) {
  const Fields& state = device.state;
  print("{}, compute capability {}, {} SMs, {:.1f} GiB\n", device.name, device.compute_capability,
        device.sms.value_or(0), static_cast<double>(device.memory_bytes.value_or(0)) / 0x1p30);
  if (state.contains("absent"))
    print("clocks unknown: {}\n\n", text_of(state, "absent"));
  else
    print("SM clock {} of {} MHz, {} of {} W, held down by: {}\n\n", told(state.at("sm_mhz")),
          told(state.at("most_sm_mhz")), told(state.at("power_w")), told(state.at("power_limit_w")),
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

// Prints the rates at which kernels read with each setting of a prefetch.
void print_choice(const std::string& what, const FetchChoice& choice) {
  results::Table table;
  table.column(what);
  table.column("read", results::Table::Align::kRight);
  table.column("unit");
  for (const FetchChoice::Trial& trial : choice.trials)
    table.row({trial.setting, results::short_number(trial.read_gb_s), "GB/s"});
  print("\n{}chosen: {} ({})\n", choice.trials.empty() ? what + "\n" : table.text() + "\n",
        choice.chosen, choice.reason);
}

void print_choices(const FetchChoices& choices, Isa isa) {
  print_choice("fetching bf16 keys ahead", choices.bf16);
  print_choice("fetching f32 keys ahead", choices.f32);
  const std::pair<const char*, const std::optional<FetchChoice>&> of_weights[] = {
      {"bf16 weights", choices.weights_bf16},
      {"f32 weights", choices.weights_f32},
      {"weights as codes", choices.weights_codes},
      {"bf16 weights, 5 to 18 rows,", choices.batch_bf16},
      {isa == Isa::kAmx ? "bf16 weights, 19 to 32 rows," : "bf16 weights, 19 and more rows,",
       choices.large_batch_bf16}};
  for (const auto& [what, choice] : of_weights)
    if (choice) print_choice(fmt::format("fetching {} ahead", what), *choice);
}

}  // namespace

void add_probe_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "probe", "Measure this machine's limits: memory bandwidth and arithmetic rate");
  auto is_json = std::make_shared<bool>(false);
  command->add_flag("--json", *is_json, "print the facts and limits as records keep them");
  const auto common = add_computing_options(*command);
  command->callback([is_json, common] {
    const Context context = make_context(*common);
    if (*is_json)
      return write_output(
          json_text(written_fields(measured_machine(context, *common)), /*indent=*/2) + "\n");
    if (const auto device = kernels::measure_device(context.runtime)) print_device(*device);
    const Context cpu = on_cpu(context);
    print_facts(cpu, probe_machine(cpu));
    print_choices(kept_calibration(cpu, *common), cpu.isa);
  });
}

}  // namespace reprise::app
