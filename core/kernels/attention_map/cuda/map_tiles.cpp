#include "core/kernels/attention_map/cuda/map_tiles.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/kernels/attention_map/row_groups.h"
#include "core/kernels/attention_map/row_keys.h"

namespace reprise::kernels::cuda {
namespace {

void check_caches(const kv::AttentionPlan& plan) {
  for (const kv::CacheView& cache : plan.caches) {
    if (cache.dtype == DType::kF32)
      raise("attention maps on a device are computed of 16-bit keys: cache them in bf16 or f16");
    if (cache.dtype != plan.caches[0].dtype)
      raise("attention maps on a device take a plan whose caches are all of one type: {} and {}",
            name_of(plan.caches[0].dtype), name_of(cache.dtype));
  }
}

const void* address(const void* base, int64_t element, DType dtype) {
  return static_cast<const char*>(base) + static_cast<size_t>(element) * size_of(dtype);
}

class Builder {
 public:
  explicit Builder(const kv::AttentionPlan& plan) : plan_(plan) { out_.seen = seen_keys(plan); }

  void add(int32_t first_row, int32_t end_row) {
    std::vector<RowGroup> groups;
    append_groups(plan_, out_.seen, first_row, end_row, groups);
    for (const RowGroup& group : groups) {
      if (group.is_prefix) {
        add_tiles(group.first_row, group.end_row, group.longest_row);
        continue;
      }
      for (int32_t row = group.first_row; row < group.end_row; ++row) add_tiles(row, row + 1, row);
    }
  }

  MapTiles finish() {
    // A row that sees keys with gaps between them has runs of its own, and sees all keys of these
    // runs.
    for (int32_t& seen : out_.seen)
      if (seen < 0) seen = std::numeric_limits<int32_t>::max();
    return std::move(out_);
  }

 private:
  void add_tiles(int32_t first_row, int32_t end_row, int32_t longest_row) {
    const auto first_run = static_cast<int32_t>(out_.runs.size());
    for_key_runs(plan_, longest_row, [&](const KeyRun& run) {
      const kv::CacheView& cache = *run.cache;
      out_.runs.push_back({.keys = address(cache.keys, run.offset, cache.dtype),
                           .values = address(cache.values, run.offset, cache.dtype),
                           .layer_stride = cache.layer_stride,
                           .head_stride = cache.head_stride,
                           .first_key = static_cast<int32_t>(run.first_key),
                           .tokens = static_cast<int32_t>(run.tokens),
                           .position = static_cast<int32_t>(run.position)});
    });
    const auto end_run = static_cast<int32_t>(out_.runs.size());
    for (int32_t row = first_row; row < end_row; row += kMapTileRows) {
      const int32_t end = std::min(row + kMapTileRows, end_row);
      const auto seen = out_.seen.begin();
      const int32_t most = *std::max_element(seen + row, seen + end);
      out_.tiles.push_back({.first_row = row,
                            .end_row = end,
                            .first_run = first_run,
                            .end_run = end_run,
                            .seen = most < 0 ? std::numeric_limits<int32_t>::max() : most});
    }
  }

  const kv::AttentionPlan& plan_;
  MapTiles out_;
};

}  // namespace

MapTiles map_tiles(const kv::AttentionPlan& plan, std::span<const int32_t> borders) {
  check_caches(plan);
  Builder builder(plan);
  int32_t first = 0;
  for (const int32_t border : borders) {
    if (border > first) builder.add(first, border);
    first = std::max(first, border);
  }
  if (first < plan.rows()) builder.add(first, static_cast<int32_t>(plan.rows()));
  return builder.finish();
}

}  // namespace reprise::kernels::cuda
