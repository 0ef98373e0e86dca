// The intrinsics that the AVX512-BF16 kernels share. Include after `#pragma GCC target` has named
// the instruction sets.
#pragma once

#include <immintrin.h>

#include "core/kernels/cpu/attention_tile.h"

namespace reprise::kernels::cpu {
namespace {

// Stands for "not visible" in scores: like -inf its weight is exactly 0, and unlike -inf it needs
// no clamp on the way through exp2. No real score comes near it.
constexpr float kMasked = -1e30f;
constexpr float kSeen = -1e29f;  // a maximum above this comes from a visible key

inline __m512bh as_bh(__m512i bits) { return reinterpret_cast<__m512bh>(bits); }
inline __m512i as_bits(__m512bh values) { return reinterpret_cast<__m512i>(values); }

inline const uint16_t* row_at(const RowGroups& rows, int j) {
  return reinterpret_cast<const uint16_t*>(rows.row(j));
}

inline uint32_t pair_at(const void* row, int pair) {
  uint32_t bits;
  std::memcpy(&bits, static_cast<const char*>(row) + 4 * pair, sizeof bits);
  return bits;
}

// 2^x for finite x <= 0 to 3e-6 relative, far below the rounding of the weights to bf16 (4e-3).
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

// m_new, or 0 where no key was seen: what the scores are taken relative to.
inline __m512 safe_maximum(__m512 m_new) {
  const __mmask16 seen = _mm512_cmp_ps_mask(m_new, _mm512_set1_ps(kSeen), _CMP_GT_OQ);
  return _mm512_maskz_mov_ps(seen, m_new);
}

// exp2(m_old - m_safe), 0 for a lane that had seen nothing.
inline __m512 correction(__m512 m_old, __m512 m_safe) {
  const __mmask16 seen = _mm512_cmp_ps_mask(m_old, _mm512_set1_ps(kSeen), _CMP_GT_OQ);
  return _mm512_maskz_mov_ps(seen, exp2_weight(_mm512_maskz_sub_ps(seen, m_old, m_safe)));
}

// Element (i, j) of 16 x 16 words becomes element (j, i).
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

alignas(64) constexpr uint16_t kPairLow[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                               37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                               11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
alignas(64) constexpr uint16_t kPairHigh[32] = {16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21,
                                                53, 22, 54, 23, 55, 24, 56, 25, 57, 26, 58,
                                                27, 59, 28, 60, 29, 61, 30, 62, 31, 63};

// v[key pair][dimension] = (V[2 pair][dimension], V[2 pair + 1][dimension]).
inline void interleave_values(const TileScratch& scratch, int dim, int pairs) {
  const __m512i low = _mm512_load_si512(kPairLow), high = _mm512_load_si512(kPairHigh);
  for (int pair = 0; pair < pairs; ++pair) {
    const auto* a = row_at(scratch.values, 2 * pair);
    const auto* b = row_at(scratch.values, 2 * pair + 1);
    uint32_t* out = static_cast<uint32_t*>(scratch.v) + pair * scratch.padded_dim;
    int c = 0;
    for (; c + 32 <= dim; c += 32) {
      const __m512i va = _mm512_loadu_si512(a + c), vb = _mm512_loadu_si512(b + c);
      _mm512_store_si512(out + c, _mm512_permutex2var_epi16(va, low, vb));
      _mm512_store_si512(out + c + 16, _mm512_permutex2var_epi16(va, high, vb));
    }
    if (c < dim) {
      const __mmask32 tail = (__mmask32{1} << (dim - c)) - 1;
      const __m512i va = _mm512_maskz_loadu_epi16(tail, a + c);
      const __m512i vb = _mm512_maskz_loadu_epi16(tail, b + c);
      _mm512_store_si512(out + c, _mm512_permutex2var_epi16(va, low, vb));
      if (dim - c > 16) _mm512_store_si512(out + c + 16, _mm512_permutex2var_epi16(va, high, vb));
    }
  }
}

// o[kLanes][16 * kVectors] = o * corr + p v over key pairs. kByKey: p[pair][lane], else
// p[lane][pair].
template <int kLanes, int kVectors, bool kByKey, typename Ahead>
inline void value_block(const uint32_t* p, const uint32_t* v, int pairs, int padded_dim,
                        const float* corr, float* o, const Ahead& ahead) {
  constexpr int kPairStep = kByKey ? kLaneTile : 1, kLaneStep = kByKey ? 1 : kKeyTile / 2;
  __m512 sum[kLanes][kVectors];
#pragma GCC unroll 6
  for (int r = 0; r < kLanes; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c)
      sum[r][c] =
          _mm512_mul_ps(_mm512_load_ps(o + r * padded_dim + 16 * c), _mm512_set1_ps(corr[r]));
  for (int pair = 0; pair < pairs; ++pair) {
    ahead.step(pair);
    __m512bh values[kVectors];
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c)
      values[c] = as_bh(_mm512_load_si512(v + pair * padded_dim + 16 * c));
#pragma GCC unroll 6
    for (int r = 0; r < kLanes; ++r) {
      const __m512bh weight =
          as_bh(_mm512_set1_epi32(static_cast<int>(p[pair * kPairStep + r * kLaneStep])));
#pragma GCC unroll 4
      for (int c = 0; c < kVectors; ++c) sum[r][c] = _mm512_dpbf16_ps(sum[r][c], weight, values[c]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < kLanes; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c) _mm512_store_ps(o + r * padded_dim + 16 * c, sum[r][c]);
}

template <int kVectors, bool kByKey, typename Ahead>
void value_columns(const TileScratch& scratch, float* o, int lanes, int pairs, int column,
                   Ahead& ahead, int rows_per_block) {
  constexpr int kLaneStep = kByKey ? 1 : kKeyTile / 2;
  const uint32_t* v = static_cast<const uint32_t*>(scratch.v) + column;
  cut_lanes(lanes, [&](auto height, int lane) {
    ahead.take(rows_per_block, pairs);
    value_block<decltype(height)::value, kVectors, kByKey>(
        static_cast<const uint32_t*>(scratch.p) + lane * kLaneStep, v, pairs, scratch.padded_dim,
        scratch.corr + lane, o + lane * scratch.padded_dim + column, ahead);
  });
}

// o of `lanes` lanes from o on: all columns. Meanwhile `rows_ahead` rows are fetched.
template <bool kByKey, typename Ahead>
void value_tile(const TileScratch& scratch, float* o, int lanes, int pairs, Ahead& ahead,
                int rows_ahead) {
  const int blocks = (scratch.padded_dim + 63) / 64 * lane_blocks(lanes);
  const int share = (rows_ahead + blocks - 1) / blocks;
  int column = 0;
  for (; column + 64 <= scratch.padded_dim; column += 64)
    value_columns<4, kByKey>(scratch, o, lanes, pairs, column, ahead, share);
  switch ((scratch.padded_dim - column) / 16) {
    case 1:
      return value_columns<1, kByKey>(scratch, o, lanes, pairs, column, ahead, share);
    case 2:
      return value_columns<2, kByKey>(scratch, o, lanes, pairs, column, ahead, share);
    case 3:
      return value_columns<3, kByKey>(scratch, o, lanes, pairs, column, ahead, share);
    default:
      return;
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
