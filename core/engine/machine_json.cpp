#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/memory.h"
#include "core/engine/machine_probe.h"

namespace reprise::engine {
namespace {

// The bracketed choice of a kernel setting such as "always [madvise] never".
std::string chosen_setting(const char* path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  const size_t open = text.find('['), close = text.find(']');
  return open == std::string::npos || close == std::string::npos
             ? "unknown"
             : text.substr(open + 1, close - open - 1);
}

}  // namespace

Json machine_json(const Context& context, const MachineLimits& limits) {
  const CpuFacts& cpu = cpu_facts();
  return {{"cpu", cpu.model},
          {"logical_cores", cpu.logical_cores},
          {"threads", context.threads},
          {"isa", name_of(context.isa)},
          {"l1d_bytes", cpu.l1d_bytes},
          {"l2_bytes", cpu.l2_bytes},
          {"l3_bytes", cpu.l3_bytes},
          {"l3_instances", cpu.l3_instances},
          {"available_bytes", available_bytes()},
          {"transparent_huge_pages", chosen_setting("/sys/kernel/mm/transparent_hugepage/enabled")},
          {"limits",
           {{"dram_read_gb_s", limits.dram_read_gb_s},
            {"l3_read_gb_s", limits.l3_read_gb_s},
            {"l2_read_gb_s", limits.l2_read_gb_s},
            {"f32_gflop_s", limits.f32_gflop_s},
            {"bf16_gflop_s", limits.bf16_gflop_s},
            {"probe_s", limits.elapsed_s}}}};
}

}  // namespace reprise::engine
