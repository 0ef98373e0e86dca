#include "methods/attn_cache/map_form.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "core/store/segment_layout.h"

namespace reprise::attn_cache {
namespace {

constexpr size_t kPartAlignment = 64;
constexpr std::array kForms = {MapForm::kF32, MapForm::kBF16, MapForm::kU8, MapForm::kTopK};

// The weights of one row as the sparse forms keep them.
class RowChooser {
 public:
  explicit RowChooser(int64_t entries) : entries_(entries) {}

  // `row` [keys] f32, of which the first `seen` may be other than 0. Writes `entries` keys, in
  // ascending order, and weights; those that are left over are key 0 with weight 0.
  void choose(const float* row, int64_t seen, uint16_t* keys, bf16* weights) {
    order_.resize(static_cast<size_t>(seen));
    std::iota(order_.begin(), order_.end(), 0);
    const int64_t kept = std::min(entries_, seen);
    keep_largest(row, kept);
    float sum = 0.0f;
    for (const int32_t key : order_) sum += row[key];
    for (int64_t i = 0; i < entries_; ++i) {
      const bool is_used = i < kept && sum > 0.0f;
      const int32_t key = is_used ? order_[static_cast<size_t>(i)] : 0;
      keys[i] = static_cast<uint16_t>(key);
      weights[i] = bf16(is_used ? row[key] / sum : 0.0f);
    }
  }

 private:
  // Among equals the earlier key stays, so that a map has one sparse form.
  void keep_largest(const float* row, int64_t kept) {
    std::partial_sort(
        order_.begin(), order_.begin() + kept, order_.end(),
        [&](int32_t a, int32_t b) { return row[a] > row[b] || (row[a] == row[b] && a < b); });
    order_.resize(static_cast<size_t>(kept));
    std::sort(order_.begin(), order_.end());
  }

  int64_t entries_;
  std::vector<int32_t> order_;  // keys that are kept
};

// Keys up to the last that has a weight: a causal row's later keys are 0.
int64_t seen_keys(const float* row, int64_t keys) {
  while (keys > 0 && row[keys - 1] == 0.0f) --keys;
  return keys;
}

void encode_bytes(const float* row, int64_t keys, float& scale, uint8_t* out) {
  const float most = *std::max_element(row, row + keys);
  scale = most / 255.0f;
  for (int64_t k = 0; k < keys; ++k)
    out[k] = most > 0.0f ? static_cast<uint8_t>(std::lround(row[k] / most * 255.0f)) : uint8_t{0};
}

// Writes rows of a layer into its parts.
class RowEncoder {
 public:
  RowEncoder(const MapFormat& format, const MapLayout& layout, std::byte* out)
      : format_(format),
        layout_(layout),
        chooser_(layout.entries),
        first_(out + layout.begin[0]),
        second_(out + layout.begin[1]) {}

  // weights [tokens] of the row that is number `at` of all heads' rows.
  void encode(const float* weights, int64_t at) {
    const int64_t tokens = layout_.tokens;
    if (is_sparse(format_.form)) {
      chooser_.choose(weights, seen_keys(weights, tokens),
                      reinterpret_cast<uint16_t*>(first_) + at * layout_.entries,
                      reinterpret_cast<bf16*>(second_) + at * layout_.entries);
    } else if (format_.form == MapForm::kU8) {
      encode_bytes(weights, tokens, reinterpret_cast<float*>(first_)[at],
                   reinterpret_cast<uint8_t*>(second_) + at * tokens);
    } else {
      const DType dtype = format_.form == MapForm::kF32 ? DType::kF32 : DType::kBF16;
      convert(weights, DType::kF32, first_ + static_cast<size_t>(at * tokens) * size_of(dtype),
              dtype, static_cast<size_t>(tokens));
    }
  }

 private:
  const MapFormat& format_;
  const MapLayout& layout_;
  RowChooser chooser_;
  std::byte* first_;
  std::byte* second_;
};

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
      return "u8";
    case MapForm::kTopK:
      break;
  }
  return "top_k";
}

std::vector<std::string> map_form_names() {
  std::vector<std::string> names;
  for (const MapForm form : kForms) names.emplace_back(name_of(form));
  return names;
}

MapForm parse_map_form(std::string_view name) {
  for (const MapForm form : kForms)
    if (name == name_of(form)) return form;
  raise("{}", unknown_name("form of stored attention maps", name, map_form_names()));
}

void validate(const MapFormat& format) {
  if (format.heads < 1) raise("attention maps of {} heads: give 1 or more", format.heads);
  if (is_sparse(format.form) && (format.entries < 1 || format.entries > 65536))
    raise("{} maps that keep {} weights of each row: give 1 to 65536", name_of(format.form),
          format.entries);
  if (!is_sparse(format.form) && format.entries != 0)
    raise("{} maps keep all weights, not {} of each row", name_of(format.form), format.entries);
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
    case MapForm::kTopK:
      layout.entries = std::min(format.entries, tokens);
      layout.bytes.fill(rows * static_cast<size_t>(layout.entries) * 2);
      break;
  }
  layout.begin[1] = kv::rounded_up(layout.bytes[0], kPartAlignment);
  layout.stride = kv::rounded_up(layout.begin[1] + layout.bytes[1], kPartAlignment);
  return layout;
}

StoredMap view_of(const MapFormat& format, int64_t tokens, const std::byte* layer) {
  const MapLayout layout = layout_of(format, tokens);
  const std::byte* first = layer + layout.begin[0];
  const std::byte* second = layer + layout.begin[1];
  StoredMap map;
  if (is_sparse(format.form)) {
    map.sparse = {.keys = reinterpret_cast<const uint16_t*>(first),
                  .weights = reinterpret_cast<const bf16*>(second),
                  .heads = format.heads,
                  .rows = tokens,
                  .entries = layout.entries,
                  .head_stride = tokens * layout.entries};
    return map;
  }
  const bool is_bytes = format.form == MapForm::kU8;
  map.dense = kernels::contiguous_map(is_bytes ? second : first,
                                      format.form == MapForm::kBF16 ? DType::kBF16 : DType::kF32,
                                      format.heads, tokens, tokens);
  if (is_bytes) {
    map.dense.row_scales = reinterpret_cast<const float*>(first);
    map.dense.scale_head_stride = tokens;
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
  RowEncoder encoder(format, layout, out.data());
  for (int64_t head = 0; head < map.heads; ++head)
    for (int64_t row = 0; row < tokens; ++row) {
      const float* weights =
          static_cast<const float*>(map.data) + head * map.head_stride + row * map.row_stride;
      check_row(weights, tokens, head, row);
      encoder.encode(weights, head * tokens + row);
    }
}

}  // namespace reprise::attn_cache
