// Computes the offsets of a layer's states in a segment file of format 2.
#pragma once

#include <cstddef>
#include <vector>

#include "core/store/segment_file.h"

namespace reprise::kv {

inline constexpr size_t kFilePage = 4096;

constexpr size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// One array of a layer: its offset from the layer's beginning, and its size, both in bytes.
struct LayerPart {
  size_t begin = 0, bytes = 0;
};

struct SegmentLayout {
  // kPlain: keys, values. kInt8: scales of keys, scales of values, keys, values.
  std::vector<LayerPart> parts;
  size_t layer_bytes = 0;   // end of the last part, from the layer's beginning
  size_t layer_stride = 0;  // distance between the beginnings of two layers

  // Bytes of all layers. The last layer is not padded to layer_stride.
  [[nodiscard]] size_t data_bytes(int64_t layers) const {
    return static_cast<size_t>(layers - 1) * layer_stride + layer_bytes;
  }
};

SegmentLayout layout_of(const SegmentShape& shape, SegmentForm form);

}  // namespace reprise::kv
