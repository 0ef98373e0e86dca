// Multiplies several input rows with one bf16 panel, with the AVX-512 bf16 dot product. Weights are
// read from memory once: the panel is divided into blocks, and a block stays in a cache while all
// rows are multiplied with it. Meanwhile the weights of a later block are prefetched. So a product
// takes the longer of two times, computing and reading the weights, instead of their sum.
//
// Each output has a single sum, to which products are added in the order of the inputs, so a row's
// bits do not depend on the number of rows.
#include <immintrin.h>

#include <algorithm>

#include "core/base/constant.h"
#include "core/kernels/linear/cpu/linear_task.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma")

#include "core/kernels/linear/cpu/linear_store-inl.h"

namespace reprise::kernels::cpu {
namespace {

constexpr int kVectors = 4;     // of a panel's 64 outputs
constexpr int64_t kLine = 64;   // bytes
constexpr int64_t kUnroll = 4;  // words of a panel

inline __m512bh as_bh(__m512i bits) { return reinterpret_cast<__m512bh>(bits); }

struct Block {
  const uint32_t* weights;  // [words][64]
  int64_t words;
  const uint32_t* x;  // [rows][...], the block's first word
  int64_t x_stride;   // words
  float* sums;        // [rows][64]
  bool is_last;       // the last block of the panel
};

// Adds to `sum` the products of one word of each of kRows rows with one word of each output.
template <int kRows>
[[gnu::always_inline]] inline void add_word(const uint32_t* w, const uint32_t* x, int64_t x_stride,
                                            __m512 (&sum)[kRows][kVectors]) {
  __m512bh columns[kVectors];
#pragma GCC unroll 4
  for (int c = 0; c < kVectors; ++c) columns[c] = as_bh(_mm512_load_si512(w + 16 * c));
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
    const __m512bh pair = as_bh(_mm512_set1_epi32(static_cast<int>(x[r * x_stride])));
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c) sum[r][c] = _mm512_dpbf16_ps(sum[r][c], columns[c], pair);
  }
}

// Adds the products of a block with kRows rows to the rows' sums. For every kUnroll words,
// prefetches `lines` cache lines from `ahead` on. Returns the address behind the last prefetched
// line.
template <int kRows, int kLocality>
const char* multiply_rows(const Block& block, const char* ahead, int64_t lines) {
  __m512 sum[kRows][kVectors];
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c) sum[r][c] = _mm512_load_ps(block.sums + r * 64 + c * 16);
  const uint32_t* w = block.weights;
  int64_t k = 0;
  for (; k + kUnroll <= block.words; k += kUnroll) {
    for (const char* end = ahead + lines * kLine; ahead != end; ahead += kLine)
      fetch_lines<kLocality, 1>(ahead);
#pragma GCC unroll 4
    for (int64_t word = 0; word < kUnroll; ++word, w += 64)
      add_word<kRows>(w, block.x + k + word, block.x_stride, sum);
  }
  for (; k < block.words; ++k, w += 64) add_word<kRows>(w, block.x + k, block.x_stride, sum);
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c) _mm512_store_ps(block.sums + r * 64 + c * 16, sum[r][c]);
  return ahead;
}

// Multiplies the block with all rows, in groups of nearly equal size. In the last block, writes the
// outputs of each group as soon as the group is done, so that the stores overlap with the next
// group's products. Prefetches as many bytes as the block has, from `ahead` on (none if `ahead` is
// null). The prefetches are spread over the products, because a burst of requests would delay the
// loads.
template <int kLocality>
void multiply(const LinearTask& task, Block block, const char* ahead) {
  const int rows = task.rows, groups = (rows + kLinearRows - 1) / kLinearRows;
  const char* const end = ahead == nullptr ? nullptr : ahead + block.words * kVectors * kLine;
  const int64_t lines = (kUnroll * kVectors + groups - 1) / groups;
  for (int g = 0, row = 0; g < groups; ++g) {
    const int of_group = rows / groups + (g < rows % groups ? 1 : 0);
    with_constant<1, 2, 3, 4, 5, 6>(of_group, [&](auto n) {
      ahead = multiply_rows<decltype(n)::value, kLocality>(block, ahead, ahead < end ? lines : 0);
    });
    for (int r = 0; block.is_last && r < of_group; ++r)
      store_row(task, row + r, block.sums + r * 64);
    row += of_group;
    block.x += of_group * block.x_stride;
    block.sums += of_group * 64;
  }
}

// Returns the words of a block. Memory limits the product of up to kBatchRows rows: small blocks
// read memory faster, because they request few lines at a time. Arithmetic limits products of more
// rows: large blocks load and store the sums less often. (Zen 5, TinyLlama's layers, prefetching 8
// and 32 KiB ahead: blocks of 16 words took 0.90 of the time of blocks of 128 words with 8 rows,
// 0.99 with 16 rows, and 1.16 with 32 rows. Zen 4, 32 to 64 rows: blocks of 512 words, 128 KiB,
// took 0.98 of the time of blocks of 128 words.)
int64_t block_words(const LinearTask& task) {
  constexpr int64_t kSmall = 16;
  if (task.rows <= kBatchRows) return kSmall;
  const int64_t blocks =
      std::max<int64_t>(1, (task.words + task.block_words - 1) / task.block_words);
  const int64_t words = (task.words + blocks - 1) / blocks;
  return std::max<int64_t>(1, (words + kUnroll - 1) / kUnroll) * kUnroll;
}

template <int kLocality>
void multiply_panel(const LinearTask& task, float* sums) {
  const auto* w = static_cast<const uint32_t*>(task.panel);
  const auto* x = static_cast<const uint32_t*>(task.x);
  const auto* next = static_cast<const uint32_t*>(task.next_panel);
  const int64_t block = block_words(task);
  // whole blocks, so that the next panel is prefetched from its first word on
  const int64_t words_ahead = std::max<int64_t>(1, task.fetch.bytes / (block * 256)) * block;
  for (int64_t k = 0; k < task.words; k += block) {
    const int64_t wanted = k + words_ahead;
    const uint32_t* ahead = kLocality < 0         ? nullptr
                            : wanted < task.words ? w + wanted * 64
                                                  : next + (wanted - task.words) * 64;
    multiply<kLocality>(task,
                        {.weights = w + k * 64,
                         .words = std::min(block, task.words - k),
                         .x = x + k,
                         .x_stride = task.words,
                         .sums = sums,
                         .is_last = k + block >= task.words},
                        reinterpret_cast<const char*>(ahead));
  }
}

}  // namespace

void linear_rows_avx512_bf16(const LinearTask& task) {
  alignas(64) float sums[kMostRowsBF16 * 64];
  std::fill_n(sums, task.rows * 64, 0.0f);
  with_locality(task.fetch,
                [&](auto locality) { multiply_panel<decltype(locality)::value>(task, sums); });
}

}  // namespace reprise::kernels::cpu

#pragma GCC pop_options
