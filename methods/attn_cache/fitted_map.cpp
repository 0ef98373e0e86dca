#include "methods/attn_cache/fitted_map.h"

#include <algorithm>
#include <array>

#include "core/base/dtype.h"
#include "core/base/enum_names.h"
#include "core/base/error.h"

namespace reprise::attn_cache {
namespace {

constexpr std::array kAlignments = {Alignment::kBegin, Alignment::kEnd};

// Fills a row of the fitted map for which no row is stored: equal weights for the first `seen`
// keys, 0 for the others.
void weigh_equally(size_t seen, std::span<float> row) {
  std::fill(row.begin(), row.end(), 0.0f);
  std::fill_n(row.begin(), seen, 1.0f / static_cast<float>(seen));
}

// Copies the stored weights [s] to `row` [tokens], `shift` keys later, and returns the sum of the
// copied weights.
float move_row(std::span<const float> stored, int64_t shift, std::span<float> row) {
  std::fill(row.begin(), row.end(), 0.0f);
  const int64_t first = std::max<int64_t>(0, shift);
  const int64_t end = std::min(std::ssize(row), std::ssize(stored) + shift);
  float sum = 0.0f;
  for (int64_t k = first; k < end; ++k)
    sum += row[static_cast<size_t>(k)] = stored[static_cast<size_t>(k - shift)];
  return sum;
}

}  // namespace

std::string_view name_of(Alignment alignment) {
  return alignment == Alignment::kBegin ? "begin" : "end";
}

std::vector<std::string> alignment_names() { return names_of_all(kAlignments); }

Alignment parse_alignment(std::string_view name) {
  return parse_name("alignment of maps", name, kAlignments);
}

void read_row(const kernels::MapView& stored, int64_t head, int64_t row, std::span<float> out) {
  const int64_t at = head * stored.head_stride + row * stored.row_stride;
  if (stored.row_scales != nullptr) {
    const float scale = stored.row_scales[head * stored.scale_head_stride + row];
    for (size_t k = 0; k < out.size(); ++k)
      out[k] = scale * static_cast<const uint8_t*>(stored.data)[at + static_cast<int64_t>(k)];
    return;
  }
  convert(static_cast<const char*>(stored.data) + static_cast<size_t>(at) * size_of(stored.dtype),
          stored.dtype, out.data(), DType::kF32, out.size());
}

void fit_map(const kernels::MapView& stored, Alignment alignment, int64_t tokens, bool is_causal,
             std::span<float> out, const Context& context) {
  REPRISE_CHECK(std::ssize(out) == stored.heads * tokens * tokens, "room for {} weights of {}",
                out.size(), stored.heads * tokens * tokens);
  const int64_t shift = alignment == Alignment::kEnd ? tokens - stored.rows : 0;
  parallel_for(context, stored.heads, [&](int64_t head, int) {
    std::vector<float> weights(static_cast<size_t>(stored.keys));
    for (int64_t p = 0; p < tokens; ++p) {
      const auto row = out.subspan(static_cast<size_t>((head * tokens + p) * tokens),
                                   static_cast<size_t>(tokens));
      float sum = 0.0f;
      if (p - shift >= 0 && p - shift < stored.rows) {
        read_row(stored, head, p - shift, weights);
        sum = move_row(weights, shift, row);
      }
      if (sum > 0.0f)
        for (float& weight : row) weight /= sum;
      else
        weigh_equally(static_cast<size_t>(is_causal ? p + 1 : tokens), row);
    }
  });
}

}  // namespace reprise::attn_cache
