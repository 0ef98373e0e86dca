#include "methods/attn_cache/map_form.h"

#include <algorithm>
#include <cmath>

#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/store/segment_layout.h"

namespace reprise::attn_cache {
namespace {

constexpr size_t kPartAlignment = 64;
constexpr std::array kForms = {MapForm::kF32, MapForm::kBF16, MapForm::kU8};

void encode_bytes(const float* row, int64_t keys, float& scale, uint8_t* out) {
  const float most = *std::max_element(row, row + keys);
  scale = most / 255.0f;
  for (int64_t k = 0; k < keys; ++k)
    out[k] = most > 0.0f ? static_cast<uint8_t>(std::lround(row[k] / most * 255.0f)) : uint8_t{0};
}

// Writes one row of weights into the bytes of a layer. `at` is the row's number, counted over all
// heads.
void encode_row(MapForm form, const MapLayout& layout, const float* weights, int64_t at,
                std::byte* layer) {
  std::byte* first = layer + layout.begin[0];
  if (form == MapForm::kU8) {
    encode_bytes(weights, layout.tokens, reinterpret_cast<float*>(first)[at],
                 reinterpret_cast<uint8_t*>(layer + layout.begin[1]) + at * layout.tokens);
    return;
  }
  const DType dtype = form == MapForm::kF32 ? DType::kF32 : DType::kBF16;
  convert(weights, DType::kF32, first + static_cast<size_t>(at * layout.tokens) * size_of(dtype),
          dtype, static_cast<size_t>(layout.tokens));
}

void check_map(const MapFormat& format, const kernels::MapView& map) {
  REPRISE_CHECK(map.dtype == DType::kF32 && map.row_scales == nullptr, "maps are encoded from f32");
  if (map.heads != format.heads || map.rows != map.keys)
    raise_shape(
        "a map of {} heads, {} rows and {} keys cannot be stored: {} heads, and as many rows as "
        "keys, which a whole prompt in one step gives",
        map.heads, map.rows, map.keys, format.heads);
}

void check_row(const float* row, int64_t keys, int64_t head, int64_t index) {
  for (int64_t k = 0; k < keys; ++k)
    if (!(row[k] >= 0.0f) || !std::isfinite(row[k]))
      raise("the attention map of head {}, row {} holds {}: the model has overflowed", head, index,
            row[k]);
}

}  // namespace

std::string_view name_of(MapForm form) {
  switch (form) {
    case MapForm::kF32:
      return "f32";
    case MapForm::kBF16:
      return "bf16";
    case MapForm::kU8:
      break;
  }
  return "u8";
}

std::vector<std::string> map_form_names() { return names_of_all(kForms); }

MapForm parse_map_form(std::string_view name) {
  return parse_name("form of stored attention maps", name, kForms);
}

void validate(const MapFormat& format) {
  if (format.heads < 1) raise("attention maps of {} heads: give 1 or more", format.heads);
}

MapLayout layout_of(const MapFormat& format, int64_t tokens) {
  MapLayout layout{.heads = format.heads, .tokens = tokens};
  const auto rows = static_cast<size_t>(format.heads * tokens);
  const auto keys = static_cast<size_t>(tokens);
  switch (format.form) {
    case MapForm::kF32:
    case MapForm::kBF16:
      layout.bytes = {rows * keys * (format.form == MapForm::kF32 ? 4 : 2), 0};
      break;
    case MapForm::kU8:
      layout.bytes = {rows * sizeof(float), rows * keys};
      break;
  }
  layout.begin[1] = kv::rounded_up(layout.bytes[0], kPartAlignment);
  layout.stride = kv::rounded_up(layout.begin[1] + layout.bytes[1], kPartAlignment);
  return layout;
}

kernels::MapView view_of(const MapFormat& format, int64_t tokens, const std::byte* layer) {
  const MapLayout layout = layout_of(format, tokens);
  const std::byte* first = layer + layout.begin[0];
  const bool is_bytes = format.form == MapForm::kU8;
  kernels::MapView map = kernels::contiguous_map(
      is_bytes ? layer + layout.begin[1] : first,
      format.form == MapForm::kBF16 ? DType::kBF16 : DType::kF32, format.heads, tokens, tokens);
  if (is_bytes) {
    map.row_scales = reinterpret_cast<const float*>(first);
    map.scale_head_stride = tokens;
  }
  return map;
}

void encode_map(const MapFormat& format, const kernels::MapView& map, std::span<std::byte> out) {
  check_map(format, map);
  const int64_t tokens = map.rows;
  const MapLayout layout = layout_of(format, tokens);
  REPRISE_CHECK(out.size() == layout.stride, "{} bytes for a layer of {}", out.size(),
                layout.stride);
  std::fill(out.begin(), out.end(), std::byte{0});
  for (int64_t head = 0; head < map.heads; ++head)
    for (int64_t row = 0; row < tokens; ++row) {
      const float* weights =
          static_cast<const float*>(map.data) + head * map.head_stride + row * map.row_stride;
      check_row(weights, tokens, head, row);
      encode_row(format.form, layout, weights, head * tokens + row, out.data());
    }
}

}  // namespace reprise::attn_cache
