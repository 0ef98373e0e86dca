#include "core/kernels/attention_map/cuda/device_maps.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/attention_map/cuda/attention_map.cuh"
#include "core/kernels/attention_map/cuda/map_tiles.h"
#include "core/kernels/shared/cuda/scratch.h"

namespace reprise::kernels::cuda {
namespace {

// A plan's tiles, runs and visible keys in device memory.
class TilesOnDevice {
 public:
  TilesOnDevice(const kv::AttentionPlan& plan, std::span<const int32_t> borders,
                DeviceRuntime& device)
      : host_(map_tiles(plan, borders)),
        runs_(device, std::span<const MapRun>(host_.runs)),
        tiles_(device, std::span<const MapTile>(host_.tiles)),
        seen_(device, std::span<const int32_t>(host_.seen)) {}

  // Returns the tiles of rows [first, end). `first` and `end` must be borders.
  [[nodiscard]] std::span<const MapTile> tiles_of(int64_t first, int64_t end) const {
    const auto before = [](const MapTile& tile, int64_t row) { return tile.first_row < row; };
    const auto from = std::lower_bound(host_.tiles.begin(), host_.tiles.end(), first, before);
    return {from, std::lower_bound(from, host_.tiles.end(), end, before)};
  }
  [[nodiscard]] MapKeys keys_of(std::span<const MapTile> tiles, const kv::AttentionPlan& plan,
                                int64_t layer, int64_t heads) const {
    return {.runs = runs_.data(),
            .tiles = tiles_.data() + (tiles.data() - host_.tiles.data()),
            .tile_count = std::ssize(tiles),
            .seen = seen_.data(),
            .dtype = plan.caches[0].dtype,
            .layer = layer,
            .heads = heads,
            .kv_heads = plan.kv_heads(),
            .head_dim = plan.head_dim()};
  }
  // Returns 1 + the largest index of a key that any row of the tile sees.
  [[nodiscard]] int64_t end_key(const MapTile& tile) const {
    int32_t end = 0;
    for (int32_t run = tile.first_run; run < tile.end_run; ++run) {
      const MapRun& keys = host_.runs[static_cast<size_t>(run)];
      if (keys.first_key < tile.seen)
        end = std::max(end, keys.first_key + std::min(keys.tokens, tile.seen - keys.first_key));
    }
    return end;
  }

 private:
  MapTiles host_;
  Scratch<MapRun> runs_;
  Scratch<MapTile> tiles_;
  Scratch<int32_t> seen_;
};

size_t element_bytes(const MapView& map) {
  return map.row_scales != nullptr ? 1 : size_of(map.dtype);
}

// A map in the device's memory: the caller's map if it is there already, else a copy of a map on
// the CPU.
class MapOnDevice {
 public:
  MapOnDevice(const MapView& map, DeviceRuntime& device)
      : view_(map),
        is_copied_(map.device == Device::kCpu),
        data_(device, is_copied_ ? static_cast<size_t>(map.heads) * head_bytes() : 0),
        scales_(device, is_copied_ ? scales_of(map) : std::vector<float>()) {
    if (!is_copied_) return;
    const bool is_whole = map.head_stride == map.rows * map.row_stride;
    if (is_whole) {
      device.copy_in(data_.data(), map.data,
                     static_cast<size_t>(map.heads - 1) * head_bytes() + read_bytes());
    } else {
      for (int64_t head = 0; head < map.heads; ++head)
        device.copy_in(data_.data() + static_cast<size_t>(head) * head_bytes(),
                       static_cast<const std::byte*>(map.data) +
                           static_cast<size_t>(head * map.head_stride) * element_bytes(map),
                       read_bytes());
    }
    view_.data = data_.data();
    view_.head_stride = map.rows * map.row_stride;
    if (map.row_scales == nullptr) return;
    view_.row_scales = scales_.data();
    view_.scale_head_stride = map.rows;
  }
  [[nodiscard]] const MapView& view() const { return view_; }

 private:
  // head_bytes(): bytes from one head of the copy to the next. read_bytes(): bytes of a head up to
  // the last weight of its last row.
  [[nodiscard]] size_t head_bytes() const {
    return static_cast<size_t>(view_.rows * view_.row_stride) * element_bytes(view_);
  }
  [[nodiscard]] size_t read_bytes() const {
    return head_bytes() - static_cast<size_t>(view_.row_stride - view_.keys) * element_bytes(view_);
  }
  static std::vector<float> scales_of(const MapView& map) {
    std::vector<float> scales;
    if (map.row_scales == nullptr) return scales;
    for (int64_t head = 0; head < map.heads; ++head) {
      const float* of_head = map.row_scales + head * map.scale_head_stride;
      scales.insert(scales.end(), of_head, of_head + map.rows);
    }
    return scales;
  }

  MapView view_;
  bool is_copied_;
  Scratch<std::byte> data_;
  Scratch<float> scales_;
};

std::vector<int32_t> first_rows(std::span<const RowMap> maps) {
  std::vector<int32_t> rows;
  for (const RowMap& part : maps) rows.push_back(part.first_row);
  return rows;
}

}  // namespace

void attention_map(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                   const AttentionParams& params, const float* bias, float* map,
                   reprise::cuda::CudaDevice& device) {
  if (plan.rows() == 0) return;
  const TilesOnDevice tiles(plan, {}, device);
  const Scratch slopes(device, params.alibi.slopes);
  const Scratch positions(device, std::span<const int32_t>(plan.row_positions));
  compute_map({.of = tiles.keys_of(tiles.tiles_of(0, plan.rows()), plan, layer, q.heads),
               .q = q.data,
               .q_row_stride = q.row_stride,
               .scale = params.scale,
               .window = params.window,
               .slopes = slopes.data(),
               .rounded_to_bf16 = params.alibi.rounded_to_bf16,
               .factor = params.alibi.factor,
               .positions = positions.data(),
               .bias = bias,
               .map = map,
               .rows = plan.rows(),
               .keys = most_keys(plan)},
              device.stream());
}

void apply_maps(const kv::AttentionPlan& plan, int64_t layer, std::span<const RowMap> maps,
                int64_t heads, const OutputView& out, reprise::cuda::CudaDevice& device) {
  const TilesOnDevice tiles(plan, first_rows(maps), device);
  for (const RowMap& part : maps) {
    const std::span<const MapTile> own =
        tiles.tiles_of(part.first_row, part.first_row + part.map.rows);
    if (own.empty()) continue;
    for (const MapTile& tile : own)
      if (tiles.end_key(tile) > part.map.keys)
        raise_shape("an attention map has {} keys, row {} reads {}: it is of a shorter text",
                    part.map.keys, tile.end_row - 1, tiles.end_key(tile));
    const MapOnDevice map(part.map, device);
    const MapView& view = map.view();
    apply_map({.of = tiles.keys_of(own, plan, layer, heads),
               .map = view.data,
               .map_dtype = view.dtype,
               .head_stride = view.head_stride,
               .row_stride = view.row_stride,
               .row_scales = view.row_scales,
               .scale_head_stride = view.scale_head_stride,
               .first_row = part.first_row,
               .out = out.data,
               .out_dtype = out.dtype},
              device.stream());
  }
}

}  // namespace reprise::kernels::cuda
