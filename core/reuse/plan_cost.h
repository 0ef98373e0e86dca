// What it costs to read a run of cached tokens, by the machine's measured limits: whether reading
// it once for several sequences pays.
#pragma once

#include <cstdint>

#include "core/device/machine_probe.h"
#include "core/reuse/reuse_method.h"

namespace reprise::reuse {

// On the CPU: seconds of one layer's attention over `tokens` that are read by `items` work items of
// `rows` query rows each. An item takes what is longer of its bytes and its products; where rows
// are few a part of the shorter shows as well. On another device sharing_pays() asks that device's
// own model (DeviceKernels::reads_us), and the CPU's limits are not measured.
//   bytes  2 * tokens * kv_heads * head_dim * element   once from DRAM; for further items of the
//          same tokens from the L3 where they fit into half of it
//   FLOPs  4 * tokens * kv_heads * head_dim * lanes   a row's heads of one kv head are lanes,
//          computed in vectors of 16 beyond kFewLanes; what each key and each lane costs beside
//          them is counted in lanes
struct PlanCosts {
  PlanSetting setting;
  MachineLimits machine;
  double l3_bytes = 0;

  [[nodiscard]] double item_seconds(int64_t tokens, int64_t rows, int64_t items) const;
  // What partial results add: every (row, head) of a shared item leaves one and merges it.
  [[nodiscard]] double merge_seconds(int64_t rows) const;
  // Whether one item of all rows beats one item for each sequence, on the setting's device.
  // `is_merged`: partial results are merged in either case.
  [[nodiscard]] bool sharing_pays(int64_t tokens, int64_t sequences, int64_t rows,
                                  bool is_merged = false) const;
};

// For the machine at hand; measures its limits unless they are known. Takes up to 3 s on the CPU.
PlanCosts plan_costs(const PlanSetting& setting);

}  // namespace reprise::reuse
