// Intrinsics that the AVX512-BF16 kernels share. Include after `#pragma GCC target` has selected
// the instruction sets.
#pragma once

#include <immintrin.h>

#include "core/kernels/attention/cpu/attention_tile.h"

namespace reprise::kernels::cpu {
namespace {

// The score of an invisible key. Its weight is exactly 0, as that of -inf would be, but it needs no
// clamp before exp2. No real score is near it.
constexpr float kMasked = -1e30f;
constexpr float kSeen = -1e29f;  // a maximum above this comes from a visible key

inline __m512bh as_bh(__m512i bits) { return reinterpret_cast<__m512bh>(bits); }
inline __m512i as_bits(__m512bh values) { return reinterpret_cast<__m512i>(values); }

// 2^x for finite x <= 0, with a relative error of at most 3e-6. The rounding of the weights to bf16
// is far larger (4e-3).
inline __m512 exp2_weight(__m512 x) {
  const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 r = _mm512_sub_ps(x, whole);
  __m512 y = _mm512_set1_ps(0.009570101f);
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(0.05591786f));
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(0.24024744f));
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(0.6931218f));
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(0.9999993f));
  return _mm512_scalef_ps(y, whole);
}

// The maximum that is subtracted from scores: m_new, or 0 for a lane that has seen no key.
inline __m512 safe_maximum(__m512 m_new) {
  const __mmask16 seen = _mm512_cmp_ps_mask(m_new, _mm512_set1_ps(kSeen), _CMP_GT_OQ);
  return _mm512_maskz_mov_ps(seen, m_new);
}

// Returns exp2(m_old - m_safe). It is exactly 1 if the maximum did not grow, so keys that a lane
// does not see change none of the lane's bits. It is 0 for a lane that had seen no key before.
inline __m512 correction(__m512 m_old, __m512 m_safe) {
  const __mmask16 seen = _mm512_cmp_ps_mask(m_old, _mm512_set1_ps(kSeen), _CMP_GT_OQ);
  const __m512 factor = exp2_weight(_mm512_maskz_sub_ps(seen, m_old, m_safe));
  const __mmask16 is_same = _mm512_cmp_ps_mask(m_old, m_safe, _CMP_EQ_OQ);
  return _mm512_maskz_mov_ps(seen, _mm512_mask_mov_ps(factor, is_same, _mm512_set1_ps(1.0f)));
}

// Transposes a matrix of 16 x 16 words.
inline void transpose(__m512i* r) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

inline void store_results(const AttentionTask& task, const TileScratch& scratch) {
  for (int lane = 0; lane < task.lanes; ++lane) {
    if (scratch.n[lane] == 0.0f) scratch.m[lane] = kMinusInfinity;
    if (task.partial_o != nullptr) {
      store_partial(task, scratch, lane);
      continue;
    }
    const float* o = scratch.o + lane * scratch.padded_dim;
    const __m512 inverse = _mm512_set1_ps(inverse_of(scratch.n[lane]));
    const int64_t first = output_element(task, lane);
    for (int c = 0; c < task.head_dim; c += 16) {
      const int left = task.head_dim - c;
      const auto mask = static_cast<__mmask16>(left >= 16 ? 0xffff : (1 << left) - 1);
      const __m512 value = _mm512_mul_ps(_mm512_load_ps(o + c), inverse);
      if (task.out_dtype == DType::kF32) {
        _mm512_mask_storeu_ps(static_cast<float*>(task.out) + first + c, mask, value);
      } else {
        _mm256_mask_storeu_epi16(static_cast<uint16_t*>(task.out) + first + c, mask,
                                 reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value)));
      }
    }
  }
}

}  // namespace
}  // namespace reprise::kernels::cpu
