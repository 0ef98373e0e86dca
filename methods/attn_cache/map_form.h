// The forms in which stored attention maps hold their weights, and their layout within a layer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernels/attention_map/attention_map.h"
#include "core/kernels/attention_map/sparse_map.h"

namespace reprise::attn_cache {

enum class MapForm : uint8_t {
  kF32,
  kBF16,
  kU8,     // bytes and an f32 scale for each row: its largest weight is 255 of them
  kTopK,   // beyond the paper: the largest `entries` weights of each row, whose sum becomes 1 again
  kBanded  // beyond the paper: of each row the first `sinks` keys and the last others that it sees,
           // `entries` together, whose sum becomes 1 again
};

std::string_view name_of(MapForm form);  // "f32", "bf16", "u8", "top_k", "banded"
// Throws Error with the nearest name.
MapForm parse_map_form(std::string_view name);
std::vector<std::string> map_form_names();
constexpr bool is_sparse(MapForm form) {
  return form == MapForm::kTopK || form == MapForm::kBanded;
}

// The format that all maps of a store share.
struct MapFormat {
  MapForm form = MapForm::kBF16;
  int64_t heads = 0;
  int64_t entries = 0;  // of each row; sparse forms alone
  int64_t sinks = 0;    // kBanded alone, at most `entries`

  bool operator==(const MapFormat&) const = default;
};

// Throws Error for values that no store can have.
void validate(const MapFormat& format);

// The bytes of one layer's map of a prompt of `tokens` tokens:
//   kF32, kBF16      weights [heads, tokens, tokens]
//   kU8              scales [heads, tokens] f32; bytes [heads, tokens, tokens]
//   kTopK, kBanded   keys [heads, tokens, n] u16; weights [heads, tokens, n] bf16, n = entries or,
//                    where that is less, tokens
// Each part begins at a multiple of 64 bytes, as does the next layer.
struct MapLayout {
  int64_t heads = 0, tokens = 0, entries = 0;
  std::array<size_t, 2> begin{}, bytes{};  // of each part; a second part of 0 bytes is none
  size_t stride = 0;                       // from one layer to the next
};
MapLayout layout_of(const MapFormat& format, int64_t tokens);

// A stored map as kernels read it, in place. The format decides which of the two is set.
struct StoredMap {
  kernels::MapView dense;
  kernels::SparseMapView sparse;
};
// View of one layer's map. `layer` points to its first byte and is 64-byte aligned.
StoredMap view_of(const MapFormat& format, int64_t tokens, const std::byte* layer);

// Writes the bytes of a layer [layout_of(...).stride] from its map [heads, tokens, tokens] f32;
// padding is zero. Throws ShapeError if heads, rows or keys differ, and Error for a weight that is
// negative or not a number.
void encode_map(const MapFormat& format, const kernels::MapView& map, std::span<std::byte> out);

}  // namespace reprise::attn_cache
