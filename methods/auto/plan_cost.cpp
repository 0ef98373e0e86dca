#include "methods/auto/plan_cost.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/device/cpu.h"
#include "core/kernels/attention/tiling.h"
#include "core/kernels/device/device_kernels.h"

namespace reprise::methods {
namespace {

using kernels::cpu::kFewLanes;

// A kernel takes each_key + each_lane * lanes for each key, in units of the time of one lane's
// products at the FLOP limit. What exceeds the products is overhead: kernels for few lanes spend it
// on horizontal sums, kernels for many lanes on interleaving values. Fitted to kernel times on a
// Zen 5 (bf16, head_dim 128, rows in L2), in ns per key: 5.3, 7.3, 11.3, 19.3 for 1, 2, 4, 8 lanes
// and 32, 49, 86 for 16, 32, 64 lanes.
struct ComputedLanes {
  double each_key, each_lane;
};
constexpr ComputedLanes kFewLanesCost = {.each_key = 3.1, .each_lane = 1.87};
constexpr ComputedLanes kManyLanesCost = {.each_key = 12.0, .each_lane = 1.1};
// The cost of kernels with AMX tiles, for many lanes. It is large because, with tiles, softmax
// takes longer than the products. (Kernel times on a Xeon for 128 keys: 64 lanes take 4.0 us at
// head_dim 64 and 6.0 us at 128; 32 lanes take 4 us at 128.)
constexpr ComputedLanes kTilesCost = {.each_key = 110.0, .each_lane = 5.0};
// The times for memory and for computing overlap. With few lanes, this share of the shorter time
// does not overlap with the longer time; with many lanes, all of it does.
constexpr double kFewLanesOpenShare = 0.15;
// Share of the measured L3 bandwidth that work items reach when they read tokens that an earlier
// item has read.
constexpr double kL3Share = 0.58;
// Cost of merging partial results, in seconds. kMergeStepSeconds is for one more parallel step. The
// other two are for each (row, head), for which a thread packs the query and sets up its state a
// second time, then stores and merges two results. Many lanes take longer to set up.
constexpr double kMergeStepSeconds = 5e-6;
constexpr double kFewLanesPartialSeconds = 80e-9, kManyLanesPartialSeconds = 330e-9;
// Shares and merging costs are fitted to measured times with and without sharing at 75 points: 4, 8
// and 32 kv heads, batch 2 to 32, 64 to 1024 shared tokens. Each point was measured in four runs,
// at 42, 47, 112 and 114 GB/s of DRAM. In 7 of these 300 cases the choice is more than 3 % slower
// than the alternative, at most 12 %.

}  // namespace

double PlanCosts::item_seconds(int64_t tokens, int64_t rows, int64_t items) const {
  const auto kv_elements = static_cast<double>(tokens * setting.kv_heads * setting.head_dim);
  const double bytes = 2.0 * kv_elements * static_cast<double>(size_of(setting.kv_dtype));
  const bool is_bf16 = setting.kv_dtype == DType::kBF16 && has_bf16_dot(setting.context.isa);
  const double dram_s = 1e9 * machine.dram_read_gb_s, l3_s = 1e9 * machine.l3_read_gb_s;

  const int64_t lanes = rows * (setting.heads / setting.kv_heads);
  const bool few = lanes <= kFewLanes;
  const bool in_tiles =
      is_bf16 && !few && setting.context.isa == Isa::kAmx && setting.head_dim % 32 == 0;
  const ComputedLanes& cost = few ? kFewLanesCost : in_tiles ? kTilesCost : kManyLanesCost;
  const double flops_s = 1e9 * (!is_bf16                         ? machine.f32_gflop_s
                                : in_tiles || dot_gflop_s == 0.0 ? machine.bf16_gflop_s
                                                                 : dot_gflop_s);
  const auto computed_lanes = static_cast<double>(few ? lanes : (lanes + 15) / 16 * 16);
  const double compute =
      4.0 * kv_elements * (cost.each_key + cost.each_lane * computed_lanes) / flops_s;
  const auto seconds = [&](double rate) {
    const double memory = bytes / rate;
    return std::max(compute, memory) + (few ? kFewLanesOpenShare * std::min(compute, memory) : 0.0);
  };
  const double first = seconds(dram_s);
  const double again = bytes <= l3_bytes / 2 ? seconds(std::max(kL3Share * l3_s, dram_s)) : first;
  return first + static_cast<double>(items - 1) * again;
}

double PlanCosts::merge_seconds(int64_t rows) const {
  const bool few = rows * (setting.heads / setting.kv_heads) <= kFewLanes;
  return kMergeStepSeconds + (few ? kFewLanesPartialSeconds : kManyLanesPartialSeconds) *
                                 static_cast<double>(rows * setting.heads) /
                                 static_cast<double>(std::max(1, setting.context.threads));
}

bool PlanCosts::sharing_pays(int64_t tokens, int64_t sequences, int64_t rows,
                             bool is_merged) const {
  REPRISE_CHECK(setting.kv_heads > 0, "costs are asked before the method was tuned");
  if (sequences < 2 || setting.context.is_batch_invariant) return false;
  const int64_t rows_each = std::max<int64_t>(1, rows / sequences);
  if (const kernels::DeviceKernels* device =
          kernels::device_kernels(setting.context, "what reading a prefix costs")) {
    kernels::RunReads reads{.heads = setting.heads,
                            .kv_heads = setting.kv_heads,
                            .head_dim = setting.head_dim,
                            .tokens = tokens,
                            .rows = rows,
                            .leaves_partials = true,
                            .is_merged = is_merged};
    const double shared_us = device->reads_us(reads);
    reads.items = sequences;
    reads.rows = rows_each;
    reads.leaves_partials = is_merged;
    return shared_us < device->reads_us(reads);
  }
  return item_seconds(tokens, rows, 1) + (is_merged ? 0.0 : merge_seconds(rows)) <
         item_seconds(tokens, rows_each, sequences);
}

PlanCosts plan_costs(const reuse::PlanSetting& setting) {
  if (setting.context.device != Device::kCpu || setting.context.is_batch_invariant)
    return {.setting = setting};
  return {
      .setting = setting,
      .machine = machine_limits(setting.context),
      .l3_bytes = static_cast<double>(cpu_facts().l3_bytes * cpu_facts().l3_instances),
      .dot_gflop_s = setting.context.isa == Isa::kAmx ? dot_product_rate(setting.context) : 0.0};
}

}  // namespace reprise::methods
