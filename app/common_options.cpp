#include "app/common_options.h"

#include <CLI/CLI.hpp>

#include "app/number_option.h"
#include "core/base/error.h"
#include "core/kernels/device/open_device.h"

namespace reprise::app {
namespace {

constexpr int kMostThreads = 4096;

}  // namespace

std::shared_ptr<CommonOptions> add_device_option(CLI::App& command) {
  auto options = std::make_shared<CommonOptions>();
  command.add_option("--device", options->device, "cpu or cuda (default: cpu)")->check(not_empty());
  return options;
}

std::shared_ptr<CommonOptions> add_computing_options(CLI::App& command) {
  auto options = add_device_option(command);
  command.add_option("--threads", options->threads, "threads to compute with (default: all cores)")
      ->check(integer_within(1, kMostThreads));
  command
      .add_option(
          "--isa", options->isa,
          "instruction set: portable, avx2, avx512, avx512-bf16, amx (default: the best here)")
      ->check(not_empty());
  command.add_flag("--fresh-calibration", options->fresh_calibration,
                   "measure again how far ahead to prefetch on this machine");
  return options;
}

Context make_context(const CommonOptions& options) {
  if (options.device != "cpu" && options.device != "cuda")
    raise("--device {}: {}", options.device,
          unknown_name("device", options.device, std::vector<std::string>{"cpu", "cuda"}));
  if (options.threads < 0 || options.threads > kMostThreads)
    raise("--threads {}: give a number from 1 to {}, or leave it out to use all {} cores",
          options.threads, kMostThreads, cpu_facts().logical_cores);
  Context context = Context::machine();
  if (options.threads > 0) context.threads = options.threads;
  if (!options.isa.empty()) context.isa = parse_isa(options.isa);
  context.device = options.device == "cuda" ? Device::kCuda : Device::kCpu;
  context.runtime = kernels::open_device(context.device);
  return context;
}

}  // namespace reprise::app
