#include <cstdlib>
#include <fstream>

#include "core/base/error.h"
#include "core/device/machine_probe.h"
#include "core/device/memory.h"

namespace reprise {
namespace {

// Returns the choice that is in brackets in a kernel setting: "madvise" for "always [madvise]
// never".
std::string chosen_setting(const char* path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  const size_t open = text.find('['), close = text.find(']');
  return open == std::string::npos || close == std::string::npos
             ? "unknown"
             : text.substr(open + 1, close - open - 1);
}

struct LimitField {
  Limit limit;
  const char* name;
  double MachineLimits::*value;
};
constexpr LimitField kLimitFields[] = {
    {Limit::kDramRead, "dram_read_gb_s", &MachineLimits::dram_read_gb_s},
    {Limit::kL3Read, "l3_read_gb_s", &MachineLimits::l3_read_gb_s},
    {Limit::kL2Read, "l2_read_gb_s", &MachineLimits::l2_read_gb_s},
    {Limit::kF32, "f32_gflop_s", &MachineLimits::f32_gflop_s},
    {Limit::kBf16, "bf16_gflop_s", &MachineLimits::bf16_gflop_s},
    {Limit::kDeviceRead, "device_read_gb_s", &MachineLimits::device_read_gb_s},
    {Limit::kDeviceHalf, "device_half_gflop_s", &MachineLimits::device_half_gflop_s}};

std::map<std::string, double> named_limits(const MachineLimits& limits) {
  std::map<std::string, double> named = {{"probe_s", limits.elapsed_s}};
  for (const LimitField& field : kLimitFields)
    if (!is_device_limit(field.limit) || limits.*field.value > 0)
      named[field.name] = limits.*field.value;
  return named;
}

double limit_in(const std::map<std::string, double>& limits, const std::string& name) {
  const auto found = limits.find(name);
  return found == limits.end() ? 0 : found->second;
}

const LimitField& field_of(Limit limit) {
  for (const LimitField& field : kLimitFields)
    if (field.limit == limit) return field;
  REPRISE_CHECK(false, "limit {}", static_cast<int>(limit));
  std::abort();
}

}  // namespace

std::string_view name_of(Limit limit) { return field_of(limit).name; }

double value_of(const MachineLimits& limits, Limit limit) { return limits.*field_of(limit).value; }

Limit parse_limit(std::string_view name) {
  std::vector<std::string> names;
  for (const LimitField& field : kLimitFields) {
    if (name == field.name) return field.limit;
    names.emplace_back(field.name);
  }
  raise("{}", unknown_name("limit", name, names));
}

double MachineDevice::limit(const std::string& key) const { return limit_in(limits, key); }
double Machine::limit(const std::string& key) const { return limit_in(limits, key); }

Machine machine_of(const Context& context, const MachineLimits& limits) {
  const CpuFacts& cpu = cpu_facts();
  Machine machine{.cpu = cpu.model,
                  .logical_cores = cpu.logical_cores,
                  .threads = context.threads,
                  .isa = std::string(name_of(context.isa))};
  machine.l1d_bytes = cpu.l1d_bytes;
  machine.l2_bytes = cpu.l2_bytes;
  machine.l3_bytes = cpu.l3_bytes;
  machine.l3_instances = cpu.l3_instances;
  if (const int64_t bytes = available_bytes(); bytes < kUnknownBytes)
    machine.available_bytes = bytes;
  machine.transparent_huge_pages = chosen_setting("/sys/kernel/mm/transparent_hugepage/enabled");
  machine.limits = named_limits(limits);
  return machine;
}

}  // namespace reprise
