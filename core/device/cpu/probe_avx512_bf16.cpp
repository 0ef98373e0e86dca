#include <immintrin.h>

#include "core/device/cpu/probe.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma")

namespace reprise::cpu {

double dot_bf16(int64_t rounds) {
  constexpr int kChains = 24;
  const __m512bh one = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3f80));
  __m512 chain[kChains];
  for (__m512& v : chain) v = _mm512_setzero_ps();
  for (int64_t round = 0; round < rounds; ++round)
#pragma GCC unroll 24
    for (__m512& v : chain) v = _mm512_dpbf16_ps(v, one, one);
  for (int c = 1; c < kChains; ++c) chain[0] = _mm512_add_ps(chain[0], chain[c]);
  volatile float kept = _mm512_cvtss_f32(chain[0]);
  (void)kept;
  return 64.0 * kChains * static_cast<double>(rounds);
}

}  // namespace reprise::cpu

#pragma GCC pop_options
