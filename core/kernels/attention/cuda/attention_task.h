// Inputs of the attention kernel besides keys, values and queries: plain structs that the host
// writes and copies to the device.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/base/dtype.h"
#include "core/kernels/attention/cuda/tensor_map.h"

namespace reprise::kernels::cuda {

// A divisor of many indices. A multiplication, an addition and a shift replace each division,
// because the GPU has no instruction for integer division [Granlund and Montgomery, "Division by
// Invariant Integers using Multiplication", fig. 4.1]. For all indices below 2^31
//   index / value = (floor(index * multiplier / 2^32) + index) >> shift
// where shift is the least with 2^shift >= value and the multiplier is
// floor(2^32 (2^shift - value) / value) + 1.
struct Divisor {
  uint32_t value = 1, multiplier = 1;
  int32_t shift = 0;

  // number >= 1.
  static constexpr Divisor of(int32_t number) {
    const auto value = static_cast<uint32_t>(number);
    const int shift = std::bit_width(value - 1);
    const uint64_t excess = (uint64_t{1} << shift) - value;
    return {.value = value,
            .multiplier = static_cast<uint32_t>((excess << 32) / value + 1),
            .shift = shift};
  }
};

// One tile of lanes against keys [first_key, end_key) of a segment, run once for each kv head.
//
// Lane j of an item and a kv head is row j / group of the item and query head kv_head * group +
// j % group, with group = heads / kv_heads: heads that share a key are neighbours, as on the CPU.
struct AttentionTask {
  int32_t first_row = 0;  // the item's first row, as a row of the plan
  int32_t first_lane = 0;
  int32_t lanes = 0;                     // 0: no work, see padded_count()
  int32_t first_key = 0, end_key = 0;    // keys of a part that any lane sees; may be empty
  int32_t visible = kAllVisible;         // row r of the item sees the keys below visible + r
  int32_t first_position = 0;            // position of the segment's first token
  int32_t cache = 0;                     // index in AttentionCall::caches
  int32_t first_block = 0, skipped = 0;  // as in kv::Segment
  Divisor block_tokens;
  // Index of the item's first row among the merged rows (AttentionSchedule::merged_rows); its other
  // rows follow. kAlone: writes rows to the output, not partial results.
  int32_t first_merged = kAlone;
  int64_t first_entry = 0;  // entry of (the item's first row, head 0)

  static constexpr int32_t kAlone = -1;
  // Value of `visible` for items without a mask: more than any number of keys, and small enough
  // that adding a row number does not overflow.
  static constexpr int32_t kAllVisible = std::numeric_limits<int32_t>::max() / 2;
};

// The fields of kv::CacheView that differ between caches. Strides are in elements.
struct DeviceCache {
  const void* keys = nullptr;
  const void* values = nullptr;
  int64_t layer_stride = 0, head_stride = 0;
};

// One layer's attention, with device addresses.
struct AttentionCall {
  // The schedule, the same for all layers of a step.
  const AttentionTask* tasks = nullptr;
  const DeviceCache* caches = nullptr;
  const int64_t* block_offsets = nullptr;  // [blocks]  in elements, from the plan
  const int32_t* row_positions = nullptr;  // [rows]
  int32_t heads = 0, kv_heads = 0;
  int32_t work = 0;         // number of (task, kv head) pairs of the launch
  Divisor group;            // query heads of a kv head
  int32_t window = 0;       // 0: none; else keys with q_position - k_position < window are seen
  float scale_log2 = 0.0f;  // scale * log2(e)
  const float* alibi_slopes = nullptr;  // [heads]; null: no bias
  float alibi_log2 = 0.0f;              // log2(e), times AlibiView::factor if rounded
  bool alibi_is_rounded = false;        // terms are rounded to bf16, see AlibiView

  // The layer.
  int64_t layer = 0;
  const void* q = nullptr;  // row r, head h at q + r * q_row_stride + h * head_dim; 16-byte aligned
  DType q_dtype = DType::kF32;
  int64_t q_row_stride = 0;  // elements, a multiple of 8
  void* out = nullptr;       // [rows, heads, head_dim]
  DType out_dtype = DType::kF32;
  // Arrays of kernels::Partials: o [entries, head_dim], not yet divided by n; m [entries] in
  // natural logarithm units; n [entries].
  float* partial_o = nullptr;
  float* partial_m = nullptr;
  float* partial_n = nullptr;
  // The merging of partial results by the attention kernel itself, see attention_merge.cuh.
  const int32_t* merge_begin = nullptr;    // [merged + 1]  CSR into merge_entries
  const int64_t* merge_entries = nullptr;  // entries of each merged row's parts, head 0
  // [merged, heads]  parts of each merged row and head that are stored; all are 0 before and after
  // the layer's launches. Null: another kernel merges.
  unsigned* arrivals = nullptr;
};

// The parameter of kernels by_tensor_maps. Maps are most quickly read from a kernel's parameters.
struct MappedCall : AttentionCall {
  StepMaps maps;
};

static_assert(std::is_trivially_copyable_v<AttentionTask> &&
              std::is_trivially_copyable_v<DeviceCache> &&
              std::is_trivially_copyable_v<MappedCall>);

}  // namespace reprise::kernels::cuda
