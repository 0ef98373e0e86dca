#include "methods/attn_cache/map_form.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/methods/attn_cache/map_testing.h"

namespace reprise::attn_cache {
namespace {

using model::expect_error;

constexpr int64_t kHeads = 2;

// The weights that a stored map decodes to, [heads, tokens, tokens].
std::vector<float> decoded(const MapFormat& format, int64_t tokens, const std::byte* layer) {
  const kernels::MapView view = view_of(format, tokens, layer);
  std::vector<float> map(static_cast<size_t>(format.heads * tokens * tokens), 0.0f);
  for (int64_t row = 0; row < format.heads * tokens; ++row) {
    float* out = map.data() + row * tokens;
    const int64_t head = row / tokens, r = row % tokens;
    const int64_t at = head * view.head_stride + r * view.row_stride;
    for (int64_t k = 0; k < tokens; ++k)
      out[k] = view.row_scales != nullptr ? view.row_scales[head * view.scale_head_stride + r] *
                                                static_cast<const uint8_t*>(view.data)[at + k]
               : view.dtype == DType::kF32
                   ? static_cast<const float*>(view.data)[at + k]
                   : static_cast<float>(static_cast<const bf16*>(view.data)[at + k]);
  }
  return map;
}

std::vector<float> round_trip(const MapFormat& format, const std::vector<float>& map,
                              int64_t tokens) {
  AlignedBuffer bytes(layout_of(format, tokens).stride);
  encode_map(format, view_of_map(map, format.heads, tokens), bytes.span<std::byte>());
  return decoded(format, tokens, bytes.as<std::byte>());
}

TEST(MapForm, DenseFormsKeepEveryWeightWithinTheirRounding) {
  for (const int64_t tokens : {1, 2, 7, 33}) {
    const std::vector<float> map = random_map(1, kHeads, tokens);
    const auto worst = [&](MapForm form) {
      const std::vector<float> got = round_trip({.form = form, .heads = kHeads}, map, tokens);
      double most = 0.0;
      for (size_t row = 0; row < got.size() / static_cast<size_t>(tokens); ++row) {
        const size_t first = row * static_cast<size_t>(tokens);
        float largest = 0.0f;
        for (size_t k = first; k < first + static_cast<size_t>(tokens); ++k)
          largest = std::max(largest, map[k]);
        for (size_t k = first; k < first + static_cast<size_t>(tokens); ++k)
          most = std::max(most, std::abs(double{got[k]} - map[k]) / largest);
      }
      return most;
    };
    EXPECT_EQ(worst(MapForm::kF32), 0.0);
    EXPECT_LE(worst(MapForm::kBF16), 0x1p-8);
    EXPECT_LE(worst(MapForm::kU8), 0.5 / 255 + 1e-6);
  }
}

TEST(MapForm, PartsBeginAtWholeCacheLines) {
  EXPECT_EQ(layout_of({.form = MapForm::kU8, .heads = 2}, 10).begin[1], 128u);
  EXPECT_EQ(layout_of({.form = MapForm::kU8, .heads = 2}, 10).stride, 128u + 256u);
}

TEST(MapForm, MapsAndFormatsThatCannotBeStoredAreErrors) {
  std::vector<float> map = random_map(1, kHeads, 6);
  AlignedBuffer bytes(layout_of({.heads = kHeads}, 6).stride);
  const auto encode = [&](const kernels::MapView& view) {
    encode_map({.form = MapForm::kBF16, .heads = kHeads}, view, bytes.span<std::byte>());
  };
  expect_error([&] { encode(view_of_map(map, 1, 6)); }, {"1 heads", "2 heads"});
  expect_error([&] { encode(kernels::contiguous_map(map.data(), DType::kF32, 2, 3, 6)); },
               {"3 rows", "6 keys"});
  map[6 * 6 + 2] = std::nanf("");
  expect_error([&] { encode(view_of_map(map, 2, 6)); }, {"head 1, row 0", "nan"});
  map[6 * 6 + 2] = -0.25f;
  expect_error([&] { encode(view_of_map(map, 2, 6)); }, {"-0.25"});
  expect_error([] { validate({.heads = 0}); }, {"0 heads"});
  expect_error([] { (void)parse_map_form("bf61"); }, {"bf61", "\"bf16\""});
  for (const std::string& name : map_form_names()) EXPECT_EQ(name_of(parse_map_form(name)), name);
}

}  // namespace
}  // namespace reprise::attn_cache
