// Multiplies several input rows with one bf16 panel, with the AVX-512 bf16 dot product. Weights are
// read from memory once: the panel is taken in blocks that stay in L1 while row after row is
// multiplied with them; meanwhile the next block is prefetched. So a product of a few dozen rows
// takes max(computing, reading the weights) instead of their sum.
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "core/base/constant.h"
#include "core/kernels/linear/cpu/linear_task.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma")

#include "core/kernels/linear/cpu/linear_store-inl.h"

namespace reprise::kernels::cpu {
namespace {

constexpr int kVectors = 4;    // of a panel's 64 outputs
constexpr int64_t kLine = 64;  // bytes

inline __m512bh as_bh(__m512i bits) { return reinterpret_cast<__m512bh>(bits); }

// The cache lines that are needed next, prefetched one by one.
struct Fetch {
  const char* at = nullptr;
  const char* last = nullptr;  // prefetched again after all others

  void ask() {
    _mm_prefetch(at, _MM_HINT_T1);
    at = std::min(at + kLine, last);
  }
};

// The block that begins at `from`, in a panel with `words` words left.
Fetch fetch_block(const uint32_t* from, int64_t words) {
  const auto* first = reinterpret_cast<const char*>(from);
  return {.at = first, .last = first + (std::min(kLinearBlockWords, words) * 4 - 1) * kLine};
}

struct Block {
  const uint32_t* weights;  // [words][64]
  int64_t words;
  const uint32_t* x;  // [rows][...], the block's first word
  int64_t x_stride;   // words
  float* sums;        // [rows][64]
};

// Adds the products of a block with kRows rows to their sums.
template <int kRows, int kFetches>
void multiply_rows(const Block& block, Fetch& fetch) {
  __m512 sum[kRows][kVectors];
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c) sum[r][c] = _mm512_load_ps(block.sums + r * 64 + c * 16);
  const uint32_t* w = block.weights;
  for (int64_t k = 0; k < block.words; ++k, w += 64) {
    __m512bh columns[kVectors];
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c) columns[c] = as_bh(_mm512_load_si512(w + 16 * c));
#pragma GCC unroll 4
    for (int i = 0; i < kFetches; ++i) fetch.ask();
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const __m512bh pair =
          as_bh(_mm512_set1_epi32(static_cast<int>(block.x[r * block.x_stride + k])));
#pragma GCC unroll 4
      for (int c = 0; c < kVectors; ++c) sum[r][c] = _mm512_dpbf16_ps(sum[r][c], columns[c], pair);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c) _mm512_store_ps(block.sums + r * 64 + c * 16, sum[r][c]);
}

// Chooses how many lines each step prefetches, so that the next block has been requested after
// `groups` groups of rows.
template <int kRows>
void multiply_rows(const Block& block, int groups, Fetch& fetch) {
  if (groups == 1) {
    multiply_rows<kRows, 4>(block, fetch);
  } else if (groups < 4) {
    multiply_rows<kRows, 2>(block, fetch);
  } else {
    multiply_rows<kRows, 1>(block, fetch);
  }
}

// Multiplies with all rows, in groups of nearly equal size.
void multiply(Block block, int rows, Fetch fetch) {
  const int groups = (rows + kLinearRows - 1) / kLinearRows;
  for (int g = 0; g < groups; ++g) {
    const int of_group = rows / groups + (g < rows % groups ? 1 : 0);
    with_constant<1, 2, 3, 4, 5, 6>(
        of_group, [&](auto n) { multiply_rows<decltype(n)::value>(block, groups, fetch); });
    block.x += of_group * block.x_stride;
    block.sums += of_group * 64;
  }
}

}  // namespace

void linear_rows_avx512_bf16(const LinearTask& task) {
  alignas(64) float sums[kManyLinearRows * 64];
  std::memset(sums, 0, static_cast<size_t>(task.rows) * 64 * sizeof(float));
  const auto* w = static_cast<const uint32_t*>(task.panel);
  const auto* x = static_cast<const uint32_t*>(task.x);
  for (int64_t k = 0; k < task.words; k += kLinearBlockWords) {
    const int64_t words = std::min(kLinearBlockWords, task.words - k);
    const uint32_t* end = w + (k + words) * 64;
    const bool is_last = k + words == task.words;
    multiply(
        {.weights = w + k * 64, .words = words, .x = x + k, .x_stride = task.words, .sums = sums},
        task.rows,
        is_last ? fetch_block(static_cast<const uint32_t*>(task.next_panel), task.words)
                : fetch_block(end, task.words - k - words));
  }
  for (int r = 0; r < task.rows; ++r) store_row(task, r, sums + r * 64);
}

}  // namespace reprise::kernels::cpu

#pragma GCC pop_options
