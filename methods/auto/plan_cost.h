// Estimates from the machine's measured limits how long attention over a run of cached tokens
// takes, and whether it pays to read the run once for several sequences.
//
// item_seconds() is the time of one layer's attention on the CPU: `items` work items with `rows`
// query rows each all read the same `tokens` tokens. A work item takes max(bytes / bandwidth, FLOPs
// / rate) seconds; with few lanes, part of the smaller of the two is added. On another device
// sharing_pays() uses the cost model of that device (DeviceKernels::reads_us), and the CPU's limits
// are not measured.
//   bytes  2 * tokens * kv_heads * head_dim * element   The first item reads them from DRAM, later
//          items of the same tokens from L3 if the bytes fit into half of it.
//   FLOPs  4 * tokens * kv_heads * head_dim * lanes   A row has one lane per query head of a KV
//          head. More than kFewLanes lanes are rounded up to a multiple of 16. The kernel's
//          overhead counts as further lanes: a constant for each key, and a factor for each lane.
#pragma once

#include <cstdint>

#include "core/device/machine_probe.h"
#include "core/reuse/sequence_cache.h"

namespace reprise::methods {

// The measured limits of the machine, and the costs that follow from them.
struct PlanCosts {
  reuse::PlanSetting setting;
  MachineLimits machine;
  double l3_bytes = 0;
  // Rate in GFLOP/s of bf16 products without AMX tiles, used for few lanes. 0 unless the machine
  // has AMX; then machine.bf16_gflop_s is the rate with tiles.
  double dot_gflop_s = 0;

  // Seconds of `items` work items of `rows` rows each, all over the same `tokens` tokens.
  [[nodiscard]] double item_seconds(int64_t tokens, int64_t rows, int64_t items) const;
  // Additional time for partial results: each (row, head) of a shared item stores a partial result
  // and merges it.
  [[nodiscard]] double merge_seconds(int64_t rows) const;
  // True if, on the setting's device, one work item with all rows is faster than one work item per
  // sequence. `is_merged`: partial results are merged with both choices. Always false with a
  // batch-invariant context, where a sequence must be computed the same way whatever other
  // sequences share with it.
  [[nodiscard]] bool sharing_pays(int64_t tokens, int64_t sequences, int64_t rows,
                                  bool is_merged = false) const;
};

// Returns the costs on this machine. If the CPU's limits are not known yet, measures them, which
// takes some seconds.
PlanCosts plan_costs(const reuse::PlanSetting& setting);

}  // namespace reprise::methods
