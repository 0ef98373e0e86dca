#include "core/engine/plan_cost.h"

#include <algorithm>

#include "core/base/cpu.h"
#include "core/base/error.h"
#include "core/kernels/cpu/attention_task.h"

namespace reprise::engine {
namespace {

using kernels::cpu::kFewLanes;

// Shares of the FLOP limit that the kernels reach with rows in cache, and the part of the memory
// time that many lanes do not hide: fitted to attention_bench and to the crossover map (Zen 5, 2
// threads, bf16).
constexpr double kFewLanesShare = 0.3;
constexpr double kManyLanesShare = 0.82;
constexpr double kOpenMemoryShare = 0.6;
// Of the DRAM and L3 limits, for few lanes.
constexpr double kFewLanesReadShare = 0.85, kFewLanesL3Share = 0.6;
// Merging: one more parallel step, and for each (row, head) on one thread the query packed and the
// state set up once more, two results stored and merged. Many lanes take longer to set up.
constexpr double kMergeStepSeconds = 15e-6;
constexpr double kFewLanesPartialSeconds = 100e-9, kManyLanesPartialSeconds = 300e-9;

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
  const auto seconds = [&](double rate, double few_lanes_share) {
    const double memory = bytes / rate;
    return few ? std::max(compute, memory / few_lanes_share)
               : std::max(compute + kOpenMemoryShare * memory, memory);
  };
  const double first = seconds(dram_s, kFewLanesReadShare);
  const double again = bytes <= l3_bytes / 2 ? seconds(l3_s, kFewLanesL3Share) : first;
  return first + static_cast<double>(items - 1) * again;
}

double PlanCosts::merge_seconds(int64_t rows) const {
  const bool few = rows * (setting.heads / setting.kv_heads) <= kFewLanes;
  return kMergeStepSeconds + (few ? kFewLanesPartialSeconds : kManyLanesPartialSeconds) *
                                 static_cast<double>(rows * setting.heads) /
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
