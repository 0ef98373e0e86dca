#include "core/engine/plan_cost.h"

#include <algorithm>

#include "core/base/cpu.h"
#include "core/base/error.h"

namespace reprise::engine {
namespace {

// Lanes up to which the kernels take dot products along head_dim (cpu::kFewLanes).
constexpr int64_t kFewLanes = 8;
// Shares of the FLOP limit that the kernels reach with rows in cache, and the part of the memory
// time that many lanes do not hide: fitted to attention_bench (Zen 5, 2 threads, bf16 and f32).
constexpr double kFewLanesShare = 0.22;
constexpr double kManyLanesShare = 0.82;
constexpr double kOpenMemoryShare = 0.6;
// Of the DRAM limit, for few lanes.
constexpr double kFewLanesReadShare = 0.85;
// A (row, head) of a further item: its query packed, its state set up, its result stored, merged.
constexpr double kPartialSeconds = 60e-9;

}  // namespace

double PlanCosts::item_seconds(int64_t tokens, int64_t rows, int64_t items) const {
  const auto kv_elements = static_cast<double>(tokens * setting.kv_heads * setting.head_dim);
  const double bytes = 2.0 * kv_elements * static_cast<double>(size_of(setting.kv_dtype));
  const bool is_bf16 = setting.kv_dtype == DType::kBF16 && setting.context.isa == Isa::kAvx512Bf16;
  const double flops_s = 1e9 * (is_bf16 ? machine.bf16_gflop_s : machine.f32_gflop_s);
  const double dram_s = 1e9 * machine.dram_read_gb_s, l3_s = 1e9 * machine.l3_read_gb_s;

  const int64_t lanes = rows * (setting.heads / setting.kv_heads);
  const bool few = lanes <= kFewLanes;
  const int64_t computed_lanes = few ? lanes : (lanes + 15) / 16 * 16;
  const double flops = 4.0 * kv_elements * static_cast<double>(computed_lanes);
  const double compute = flops / (flops_s * (few ? kFewLanesShare : kManyLanesShare));
  const auto seconds = [&](double memory) {
    return few ? std::max(compute, memory / kFewLanesReadShare)
               : std::max(compute + kOpenMemoryShare * memory, memory);
  };
  const double again = bytes <= l3_bytes / 2 ? bytes / l3_s : bytes / dram_s;
  return seconds(bytes / dram_s) + static_cast<double>(items - 1) * seconds(again);
}

double PlanCosts::merge_seconds(int64_t rows) const {
  return kPartialSeconds * static_cast<double>(rows * setting.heads) /
         static_cast<double>(std::max(1, setting.context.threads));
}

bool PlanCosts::sharing_pays(int64_t tokens, int64_t sequences, int64_t rows) const {
  REPRISE_CHECK(setting.kv_heads > 0, "costs are asked before the method was tuned");
  if (sequences < 2) return false;
  const int64_t rows_each = std::max<int64_t>(1, rows / sequences);
  return item_seconds(tokens, rows, 1) + merge_seconds(rows) <
         item_seconds(tokens, rows_each, sequences);
}

PlanCosts plan_costs(const PlanSetting& setting) {
  return {.setting = setting,
          .machine = machine_limits(setting.context),
          .l3_bytes = static_cast<double>(cpu_facts().l3_bytes * cpu_facts().l3_instances)};
}

}  // namespace reprise::engine
