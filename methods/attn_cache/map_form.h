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

namespace reprise::attn_cache {

enum class MapForm : uint8_t {
  kF32,
  kBF16,
  kU8  // one byte per weight, one f32 scale per row; 255 is the row's largest weight
};

std::string_view name_of(MapForm form);  // "f32", "bf16", "u8"
// Throws Error with the nearest name.
MapForm parse_map_form(std::string_view name);
std::vector<std::string> map_form_names();

// The format that all maps of a store share.
struct MapFormat {
  MapForm form = MapForm::kBF16;
  int64_t heads = 0;

  bool operator==(const MapFormat&) const = default;
};

// Throws Error for values that no store can have.
void validate(const MapFormat& format);

// The bytes of one layer's map of a prompt of `tokens` tokens:
//   kF32, kBF16      weights [heads, tokens, tokens]
//   kU8              scales [heads, tokens] f32; bytes [heads, tokens, tokens]
// Each part begins at a multiple of 64 bytes, as does the next layer.
struct MapLayout {
  int64_t heads = 0, tokens = 0;
  std::array<size_t, 2> begin{}, bytes{};  // [parts]  offset, size; bytes[1] is 0 for one part
  size_t stride = 0;                       // bytes from one layer to the next
};
MapLayout layout_of(const MapFormat& format, int64_t tokens);

// A view of a map in place, as kernels take it. `layer` points at the bytes of one layer, 64-byte
// aligned.
kernels::MapView view_of(const MapFormat& format, int64_t tokens, const std::byte* layer);

// Encodes one layer's `map` [heads, tokens, tokens] f32 into `out`, which has layout_of(...).stride
// bytes. Padding bytes are zero. Throws ShapeError if the heads differ from the format's or the
// rows from the keys, and Error for a weight that is negative or not a number.
void encode_map(const MapFormat& format, const kernels::MapView& map, std::span<std::byte> out);

}  // namespace reprise::attn_cache
