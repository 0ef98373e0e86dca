#include "core/kernels/attention_map/cpu/map_product.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/kernels/linear/cpu/linear_task.h"

namespace reprise::kernels::cpu {
namespace {

// Rows of a tile. All rows of a tile are multiplied with as many keys as any of them sees. In a
// causal map of 560 keys this adds 12 keys to the 280 that a row sees on average. The bf16 kernel
// reads the values once for all rows of a tile.
constexpr int64_t kTileRows = 24;

void grow(AlignedBuffer& buffer, size_t bytes) {
  if (buffer.bytes() < bytes) buffer = AlignedBuffer(bytes);
}

const void* values_of(const KeyRun& run, int64_t layer, int64_t head) {
  const int64_t element =
      run.offset + layer * run.cache->layer_stride + head * run.cache->head_stride;
  return static_cast<const char*>(run.cache->values) +
         static_cast<size_t>(element) * size_of(run.cache->dtype);
}

// Returns a table of the bf16 of each byte 0 to 255. All are exact, because bf16 has eight bits of
// precision.
constexpr std::array<uint16_t, 256> bf16_of_bytes() {
  std::array<uint16_t, 256> table{};
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(i)) >> 16);
  return table;
}
constexpr std::array<uint16_t, 256> kByteAsBf16 = bf16_of_bytes();

// Copies the first `count` weights of a row, converted to `dtype`. Weights stored as bytes are not
// multiplied with their scale.
void copy_weights(const MapView& map, int64_t at, int64_t count, DType dtype, void* out) {
  if (map.row_scales == nullptr) {
    const auto* from =
        static_cast<const char*>(map.data) + static_cast<size_t>(at) * size_of(map.dtype);
    if (map.dtype == dtype)
      std::memcpy(out, from, static_cast<size_t>(count) * size_of(dtype));
    else
      convert(from, map.dtype, out, dtype, static_cast<size_t>(count));
    return;
  }
  const uint8_t* bytes = static_cast<const uint8_t*>(map.data) + at;
  if (dtype == DType::kBF16) {
    auto* to = static_cast<uint16_t*>(out);
    for (int64_t k = 0; k < count; ++k) to[k] = kByteAsBf16[bytes[k]];
  } else {
    auto* to = static_cast<float*>(out);
    for (int64_t k = 0; k < count; ++k) to[k] = static_cast<float>(bytes[k]);
  }
}

}  // namespace

void MapProducts::take_values(std::span<const KeyRun> runs, int64_t layer, int64_t head,
                              const MapView& map) {
  keys_ = runs.empty() ? 0 : runs.back().first_key + runs.back().tokens;
  head_dim_ = runs.empty() ? 0 : runs.front().cache->head_dim;
  const bool is_bf16 = (map.row_scales != nullptr || map.dtype == DType::kBF16) &&
                       std::all_of(runs.begin(), runs.end(), [](const KeyRun& run) {
                         return run.cache->dtype == DType::kBF16;
                       });
  dtype_ = is_bf16 ? DType::kBF16 : DType::kF32;
  words_ = is_bf16 ? (keys_ + 1) / 2 : keys_;
  grow(panel_, static_cast<size_t>(panels() * words_ * 64) * sizeof(uint32_t));
  if (is_bf16)
    pack_bf16(runs, layer, head);
  else
    pack_f32(runs, layer, head);
}

void MapProducts::pack_f32(std::span<const KeyRun> runs, int64_t layer, int64_t head) {
  for (int64_t p = 0; p < panels(); ++p) {
    float* panel = panel_.as<float>() + p * words_ * 64;
    const int64_t cols = std::min<int64_t>(64, head_dim_ - p * 64);
    for (const KeyRun& run : runs) {
      const auto* from = static_cast<const char*>(values_of(run, layer, head));
      const size_t element = size_of(run.cache->dtype);
      for (int64_t t = 0; t < run.tokens; ++t) {
        float* word = panel + (run.first_key + t) * 64;
        convert(from + static_cast<size_t>(t * head_dim_ + p * 64) * element, run.cache->dtype,
                word, DType::kF32, static_cast<size_t>(cols));
        std::fill(word + cols, word + 64, 0.0f);
      }
    }
  }
}

// Packs the values as bf16 words. Two neighbouring keys share a word, the first key in the lower
// half; the upper half of the last word may be unused.
void MapProducts::pack_bf16(std::span<const KeyRun> runs, int64_t layer, int64_t head) {
  for (int64_t p = 0; p < panels(); ++p) {
    uint32_t* panel = panel_.as<uint32_t>() + p * words_ * 64;
    const int64_t cols = std::min<int64_t>(64, head_dim_ - p * 64);
    for (const KeyRun& run : runs) {
      const auto* from = static_cast<const uint16_t*>(values_of(run, layer, head)) + p * 64;
      for (int64_t t = 0; t < run.tokens;) {
        const int64_t key = run.first_key + t;
        uint32_t* word = panel + key / 2 * 64;
        const uint16_t* first = from + t * head_dim_;
        if (key % 2 == 1) {  // the previous run wrote the word's lower half
          for (int64_t c = 0; c < cols; ++c) word[c] |= uint32_t{first[c]} << 16;
          ++t;
          continue;
        }
        if (t + 1 < run.tokens) {
          const uint16_t* second = first + head_dim_;
          for (int64_t c = 0; c < cols; ++c) word[c] = first[c] | uint32_t{second[c]} << 16;
        } else {
          for (int64_t c = 0; c < cols; ++c) word[c] = first[c];
        }
        std::fill(word + cols, word + 64, 0u);
        t += 2;
      }
    }
  }
}

void MapProducts::multiply(const MapProduct& product, Isa isa) {
  const int64_t tile = multiplies_bf16(isa) ? kTileRows : kLinearRows;
  const int64_t rows = std::ssize(product.seen);
  for (int64_t first = 0; first < rows; first += tile)
    multiply_rows(product, first, std::min(tile, rows - first), isa);
}

void MapProducts::take_weights(const MapProduct& product, int64_t first, int64_t rows, int64_t keys,
                               DType dtype) {
  const MapView& map = *product.map;
  const size_t element = size_of(dtype);
  grow(weights_, static_cast<size_t>(kTileRows * (keys_ + 1)) * sizeof(float));
  for (int64_t r = 0; r < rows; ++r) {
    char* row = weights_.as<char>() + static_cast<size_t>(r * keys) * element;
    const int64_t seen = product.seen[static_cast<size_t>(first + r)];
    const int64_t at =
        product.head * map.head_stride + (product.first_row + first + r) * map.row_stride;
    copy_weights(map, at, seen, dtype, row);
    std::memset(row + static_cast<size_t>(seen) * element, 0,
                static_cast<size_t>(keys - seen) * element);
  }
}

void MapProducts::multiply_rows(const MapProduct& product, int64_t first, int64_t rows, Isa isa) {
  const int64_t seen =
      *std::max_element(product.seen.begin() + first, product.seen.begin() + first + rows);
  const int64_t words = dtype_ == DType::kBF16 ? (seen + 1) / 2 : seen;
  const int64_t keys = dtype_ == DType::kBF16 ? 2 * words : words;
  take_weights(product, first, rows, keys, multiplies_bf16(isa) ? DType::kBF16 : DType::kF32);
  const bool is_scaled = product.map->row_scales != nullptr;
  if (is_scaled) sums_.resize(static_cast<size_t>(kTileRows * head_dim_));
  char* out = static_cast<char*>(product.out) +
              static_cast<size_t>(first * product.out_stride) * size_of(product.out_dtype);
  for (int64_t p = 0; p < panels(); ++p) {
    const uint32_t* panel = panel_.as<uint32_t>() + p * words_ * 64;
    LinearTask task = {.panel = panel,
                       .dtype = dtype_,
                       .words = words,
                       .x = weights_.data(),
                       .rows = static_cast<int>(rows),
                       .outputs = static_cast<int>(std::min<int64_t>(64, head_dim_ - p * 64)),
                       .out = out + static_cast<size_t>(p * 64) * size_of(product.out_dtype),
                       .out_dtype = product.out_dtype,
                       .out_stride = product.out_stride,
                       .next_panel = panel,
                       .fetch = {.bytes = 0}};
    if (is_scaled) {
      task.out = sums_.data() + p * 64;
      task.out_dtype = DType::kF32;
      task.out_stride = head_dim_;
    }
    if (multiplies_bf16(isa))
      linear_rows_avx512_bf16(task);
    else
      linear_panel_f32(task, isa);
  }
  if (is_scaled) scale_and_store(product, first, rows);
}

void MapProducts::scale_and_store(const MapProduct& product, int64_t first, int64_t rows) const {
  const MapView& map = *product.map;
  for (int64_t r = first; r < first + rows; ++r) {
    const float scale =
        map.row_scales[product.head * map.scale_head_stride + product.first_row + r];
    const float* sums = sums_.data() + (r - first) * head_dim_;
    visit_dtype(product.out_dtype, [&](auto zero) {
      using Out = decltype(zero);
      auto* out = static_cast<Out*>(product.out) + r * product.out_stride;
      for (int64_t c = 0; c < head_dim_; ++c) out[c] = Out(scale * sums[c]);
    });
  }
}

}  // namespace reprise::kernels::cpu
