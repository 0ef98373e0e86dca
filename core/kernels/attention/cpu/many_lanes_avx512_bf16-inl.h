// Code that the two kernels for many lanes over bf16 keys share (AVX512-BF16 and AMX): it packs
// queries, masks scores and computes the softmax. Include after `#pragma GCC target` has selected
// the instruction sets.
#pragma once

#include "core/kernels/attention/cpu/avx512_bf16-inl.h"

namespace reprise::kernels::cpu {
namespace {

inline const uint16_t* row_at(const RowGroups& rows, int j) {
  return reinterpret_cast<const uint16_t*>(rows.row(j));
}

// Two layouts of a lane tile's queries, scores and weights. A row of the queries is a pair of
// dimensions, a row of the scores a key, and a row of the weights a pair of keys. Lane 16 v + i of
// row r is at r * kRow + v * vector + i, in words, where `vector` is the distance from one vector
// of 16 lanes to the next.
struct RowsOf64 {
  static constexpr int kRow = kLaneTile, kScoreVector = 16, kWeightVector = 16;
  static constexpr int query_vector(int /*pairs*/) { return 16; }
};
struct PanelsOf16 {
  static constexpr int kRow = 16, kScoreVector = kKeyTile * 16, kWeightVector = kKeyTile / 2 * 16;
  static constexpr int query_vector(int pairs) { return pairs * 16; }
};

// Packs the queries of one lane tile; missing lanes up to a multiple of 16 are 0.
template <typename Layout>
void pack_queries(const AttentionTask& task, int first_lane, int lanes, uint32_t* out) {
  const int dim = task.head_dim, vector = Layout::query_vector(dim / 2);
  const __m512 scale = _mm512_set1_ps(task.scale_log2);
  const auto tail = [](int left) {
    return static_cast<__mmask16>(left >= 16 ? 0xffff : left <= 0 ? 0 : (1 << left) - 1);
  };
  for (int lane = 0; lane < lanes; lane += 16)
    for (int c = 0; c < dim; c += 32) {
      __m512i rows[16];
      for (int i = 0; i < 16; ++i) {
        rows[i] = _mm512_setzero_si512();
        if (lane + i >= lanes) continue;
        const float* row = query_of(task, first_lane + lane + i) + c;
        const __m512 low = _mm512_mul_ps(_mm512_maskz_loadu_ps(tail(dim - c), row), scale);
        const __m512 high =
            _mm512_mul_ps(_mm512_maskz_loadu_ps(tail(dim - c - 16), row + 16), scale);
        rows[i] = as_bits(_mm512_cvtne2ps_pbh(high, low));
      }
      transpose(rows);
      for (int i = 0; i < std::min(16, (dim - c) / 2); ++i)
        _mm512_store_si512(out + (c / 2 + i) * Layout::kRow + lane / 16 * vector, rows[i]);
    }
}

// Adds biases to the scores, masks the keys that a lane does not see, and sets top[lane] to the
// maximum of the remaining scores.
template <typename Layout>
void mask_tile(const AttentionTask& task, const TileScratch& scratch, int first_lane, int vectors,
               int first, int keys, float* top) {
  const __m512 factor = _mm512_set1_ps(task.has_alibi ? task.alibi_factor(0) : 0.0f);
  for (int v = 0; v < vectors; ++v) {
    const int lane = first_lane + 16 * v;
    const __m512i low = _mm512_load_si512(scratch.low + lane),
                  high = _mm512_load_si512(scratch.high + lane);
    const __m512 alibi_q = _mm512_load_ps(scratch.alibi_q + lane);
    __m512 highest = _mm512_set1_ps(kMasked);
    for (int j = 0; j < keys; ++j) {
      float* at = scratch.scores + j * Layout::kRow + v * Layout::kScoreVector;
      const __m512i key = _mm512_set1_epi32(first + j);
      __m512 s = _mm512_load_ps(at);
      if (task.has_alibi)
        s = _mm512_fmadd_ps(factor, _mm512_sub_ps(_mm512_set1_ps(scratch.alibi_k[j]), alibi_q), s);
      const __mmask16 visible =
          _mm512_cmpge_epi32_mask(key, low) & _mm512_cmplt_epi32_mask(key, high);
      s = _mm512_mask_mov_ps(_mm512_set1_ps(kMasked), visible, s);
      highest = _mm512_max_ps(highest, s);
      _mm512_store_ps(at, s);
    }
    _mm512_store_ps(top + 16 * v, highest);
  }
}

// Computes the online softmax of scores[key][lane] and writes the weights to p[key pair][lane].
// Calls meanwhile() once for each pair of keys and vector of lanes.
template <typename Layout, typename Meanwhile>
void softmax_tile(const TileScratch& scratch, int first_lane, int vectors, int keys,
                  const float* top, Meanwhile&& meanwhile) {
  alignas(64) static constexpr uint16_t kInterleave[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i interleave = _mm512_load_si512(kInterleave);
  constexpr int kRow = Layout::kRow;
  for (int v = 0; v < vectors; ++v) {
    float* m = scratch.m + first_lane + 16 * v;
    float* n = scratch.n + first_lane + 16 * v;
    const float* column = scratch.scores + v * Layout::kScoreVector;
    uint32_t* p = static_cast<uint32_t*>(scratch.p) + v * Layout::kWeightVector;
    const __m512 m_old = _mm512_load_ps(m);
    const __m512 m_new = _mm512_max_ps(m_old, _mm512_load_ps(top + 16 * v));
    const __m512 m_safe = safe_maximum(m_new);
    const __m512 corr = correction(m_old, m_safe);
    __m512 n0 = _mm512_mul_ps(_mm512_load_ps(n), corr);
    __m512 n1 = _mm512_setzero_ps();
    int j = 0;
    for (; j + 1 < keys; j += 2) {
      meanwhile();
      const __m512 p0 = exp2_weight(_mm512_sub_ps(_mm512_load_ps(column + j * kRow), m_safe));
      const __m512 p1 = exp2_weight(_mm512_sub_ps(_mm512_load_ps(column + (j + 1) * kRow), m_safe));
      n0 = _mm512_add_ps(n0, p0);
      n1 = _mm512_add_ps(n1, p1);
      _mm512_store_si512(p + j / 2 * kRow, _mm512_permutexvar_epi16(
                                               interleave, as_bits(_mm512_cvtne2ps_pbh(p1, p0))));
    }
    if (j < keys) {
      const __m512 p0 = exp2_weight(_mm512_sub_ps(_mm512_load_ps(column + j * kRow), m_safe));
      n0 = _mm512_add_ps(n0, p0);
      const __m512i both = as_bits(_mm512_cvtne2ps_pbh(_mm512_setzero_ps(), p0));
      _mm512_store_si512(p + j / 2 * kRow, _mm512_permutexvar_epi16(interleave, both));
    }
    _mm512_store_ps(m, m_new);
    _mm512_store_ps(n, _mm512_add_ps(n0, n1));
    _mm512_store_ps(scratch.corr + 16 * v, corr);
  }
}

}  // namespace
}  // namespace reprise::kernels::cpu
