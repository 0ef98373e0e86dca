// Multiplies a few input rows with one bf16 panel, by the AVX-512 bf16 dot product. Reads the panel
// once.
#include <immintrin.h>

#include <cstring>

#include "core/base/constant.h"
#include "core/kernels/linear/cpu/linear_task.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma")

namespace reprise::kernels::cpu {
namespace {

inline __m512bh as_bh(__m512i bits) { return reinterpret_cast<__m512bh>(bits); }

template <int kRows, int kLocality>
void panel(const LinearTask& task) {
  // With one or two rows, two sets of sums keep enough independent chains in flight to hide the
  // latency.
  constexpr int kSets = kRows <= 2 ? 2 : 1;
  const auto* w = static_cast<const uint32_t*>(task.panel);
  const auto* x = static_cast<const uint32_t*>(task.x);
  const int64_t words_ahead = task.fetch.bytes / 4;
  __m512 sum[kSets][kRows][4];
  for (auto& set : sum)
    for (auto& row : set)
      for (__m512& s : row) s = _mm512_setzero_ps();
  for (int64_t k = 0; k < task.words; k += kSets) {
#pragma GCC unroll 2
    for (int set = 0; set < kSets; ++set) {
      const uint32_t* at = w + (k + set) * 64;
      __m512bh columns[4];
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) {
        fetch_lines<kLocality, 1>(at + words_ahead + 16 * c);
        columns[c] = as_bh(_mm512_load_si512(at + 16 * c));
      }
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        const __m512bh pair =
            as_bh(_mm512_set1_epi32(static_cast<int>(x[r * task.words + k + set])));
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c)
          sum[set][r][c] = _mm512_dpbf16_ps(sum[set][r][c], columns[c], pair);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    alignas(64) float sums[64];
    for (int c = 0; c < 4; ++c) {
      __m512 total = sum[0][r][c];
      if constexpr (kSets == 2) total = _mm512_add_ps(total, sum[1][r][c]);
      _mm512_store_ps(sums + 16 * c, total);
    }
    store_outputs(task, r, sums);
  }
}

}  // namespace

void linear_panel_avx512_bf16(const LinearTask& task) {
  with_locality(task.fetch, [&](auto locality) {
    with_constant<1, 2, 3, 4, 5, 6>(task.rows, [&](auto rows) {
      panel<decltype(rows)::value, decltype(locality)::value>(task);
    });
  });
}

}  // namespace reprise::kernels::cpu

#pragma GCC pop_options
