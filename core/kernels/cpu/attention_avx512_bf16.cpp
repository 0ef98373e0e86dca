// Attention of a lane tile over bf16 keys and values with the AVX-512 bf16 dot product.
//
// How it goes, for each tile of up to 128 keys:
//   scores   many lanes: S[key][lane] = K[key] broadcast pair by pair against the queries, packed
//   [pair][lane], so that
//            neither the keys need transposing nor the row maxima a horizontal reduction;
//            few lanes: dot products along head_dim, 16 keys at a time, summed by a transposing
//            tree.
//   softmax  online: m grows, older sums are scaled by exp2(m_old - m_new); weights are rounded to
//   bf16 in key pairs. values   V is interleaved by key pairs (two permutes for 32 dimensions),
//   then O[lane] += P pair broadcast * V pairs.
// Both products run in blocks of 24 accumulators, which with 4 + 1 operands fills the 32 registers.
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/kernels/cpu/attention_tile.h"

// The rest is compiled for the processor at hand only; what the headers above define stays runnable
// anywhere.
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma")

namespace reprise::kernels::cpu {
namespace {

alignas(64) constexpr uint16_t kZeroRow[kMaxHeadDim] = {};

// Elements of the scratch as this kernel lays them out.
inline uint32_t* q_pairs(const TileScratch& scratch) { return static_cast<uint32_t*>(scratch.q); }
inline uint32_t* p_pairs(const TileScratch& scratch) { return static_cast<uint32_t*>(scratch.p); }
inline uint32_t* v_pairs(const TileScratch& scratch) { return static_cast<uint32_t*>(scratch.v); }

inline uint32_t pair_at(const void* row, int pair) {
  uint32_t bits;
  std::memcpy(&bits, static_cast<const char*>(row) + 4 * pair, sizeof bits);
  return bits;
}

inline __m512bh as_bh(__m512i bits) { return reinterpret_cast<__m512bh>(bits); }

// 2^x for x <= 0 to 3e-6 relative, an order of magnitude below the rounding of the weights to bf16.
inline __m512 exp2_approx(__m512 x) {
  x = _mm512_max_ps(_mm512_set1_ps(-160.0f), x);  // in this order NaN stays NaN
  const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 r = _mm512_sub_ps(x, whole);
  __m512 y = _mm512_set1_ps(0.009570101f);
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(0.05591786f));
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(0.24024744f));
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(0.6931218f));
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(0.9999993f));
  return _mm512_scalef_ps(y, whole);
}

// 16 sums of 16 elements each, sum i in element i.
inline __m512 sum_each(__m512* a) {
  for (int i = 0; i < 8; ++i)
    a[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a[i], a[i + 8], 0x44),
                         _mm512_shuffle_f32x4(a[i], a[i + 8], 0xee));
  for (int i = 0; i < 4; ++i)
    a[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a[i], a[i + 4], 0x88),
                         _mm512_shuffle_f32x4(a[i], a[i + 4], 0xdd));
  for (int i = 0; i < 2; ++i)
    a[i] = _mm512_add_ps(_mm512_unpacklo_ps(a[i], a[i + 2]), _mm512_unpackhi_ps(a[i], a[i + 2]));
  const __m512 mixed =
      _mm512_add_ps(_mm512_unpacklo_ps(a[0], a[1]), _mm512_unpackhi_ps(a[0], a[1]));
  return _mm512_shuffle_f32x4(mixed, mixed, 0xd8);
}

// ---- scores ----

void pack_queries_by_lane(const AttentionTask& task, const TileScratch& scratch) {
  const int pairs = task.head_dim / 2;
  const int width = (task.lanes + 15) / 16 * 16;
  for (int lane = 0; lane < width; ++lane) {
    uint32_t* column = q_pairs(scratch) + lane;
    if (lane >= task.lanes) {
      for (int c = 0; c < pairs; ++c) column[c * kLaneTile] = 0;
      continue;
    }
    const float* row = query_of(task, lane);
    for (int c = 0; c < pairs; ++c) {
      const bf16 first(row[2 * c] * task.scale_log2), second(row[2 * c + 1] * task.scale_log2);
      column[c * kLaneTile] = static_cast<uint32_t>(first.bits) | static_cast<uint32_t>(second.bits)
                                                                      << 16;
    }
  }
}

void pack_queries_by_row(const AttentionTask& task, const TileScratch& scratch) {
  const int padded_pairs = (task.head_dim + 31) / 32 * 16;
  for (int lane = 0; lane < task.lanes; ++lane) {
    const float* row = query_of(task, lane);
    auto* packed = reinterpret_cast<uint16_t*>(q_pairs(scratch) + lane * padded_pairs);
    for (int c = 0; c < 2 * padded_pairs; ++c)
      packed[c] = c < task.head_dim ? bf16(row[c] * task.scale_log2).bits : uint16_t{0};
  }
}

// Scores of kKeys keys against 16 * kVectors lanes.
template <int kVectors, int kKeys>
inline void score_block(const uint32_t* q, int pairs, const void* const* k, float* scores) {
  __m512 sum[kKeys][kVectors];
#pragma GCC unroll 24
  for (int j = 0; j < kKeys; ++j)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[j][v] = _mm512_setzero_ps();
  for (int c = 0; c < pairs; ++c) {
    __m512bh lanes[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      lanes[v] = as_bh(_mm512_load_si512(q + c * kLaneTile + 16 * v));
#pragma GCC unroll 24
    for (int j = 0; j < kKeys; ++j) {
      const __m512bh key = as_bh(_mm512_set1_epi32(static_cast<int>(pair_at(k[j], c))));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[j][v] = _mm512_dpbf16_ps(sum[j][v], key, lanes[v]);
    }
  }
#pragma GCC unroll 24
  for (int j = 0; j < kKeys; ++j)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) _mm512_store_ps(scores + j * kLaneTile + 16 * v, sum[j][v]);
}

template <int kVectors>
void score_tile(const TileScratch& scratch, int pairs, int keys) {
  constexpr int kKeys = 24 / kVectors;
  for (int j = 0; j < keys; j += kKeys)
    score_block<kVectors, kKeys>(q_pairs(scratch), pairs, scratch.k_rows + j,
                                 scratch.scores + j * kLaneTile);
}

void score_tile(const TileScratch& scratch, int vectors, int pairs, int keys) {
  switch (vectors) {
    case 1:
      return score_tile<1>(scratch, pairs, keys);
    case 2:
      return score_tile<2>(scratch, pairs, keys);
    case 3:
      return score_tile<3>(scratch, pairs, keys);
    default:
      return score_tile<4>(scratch, pairs, keys);
  }
}

// Few lanes: scores[lane][key] for a whole number of 16 keys.
template <int kChunks>
void score_rows(const AttentionTask& task, const TileScratch& scratch, int keys) {
  const int last = task.head_dim - 32 * (kChunks - 1);
  const __mmask32 tail = last >= 32 ? ~__mmask32{0} : (__mmask32{1} << last) - 1;
  for (int lane = 0; lane < task.lanes; ++lane) {
    __m512bh q[kChunks];
    for (int c = 0; c < kChunks; ++c)
      q[c] = as_bh(_mm512_load_si512(q_pairs(scratch) + lane * 16 * kChunks + 16 * c));
    for (int j = 0; j < keys; j += 16) {
      __m512 sum[16];
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) {
        const auto* row = static_cast<const uint16_t*>(scratch.k_rows[j + i]);
        sum[i] = _mm512_setzero_ps();
        for (int c = 0; c + 1 < kChunks; ++c)
          sum[i] = _mm512_dpbf16_ps(sum[i], q[c], as_bh(_mm512_loadu_si512(row + 32 * c)));
        sum[i] = _mm512_dpbf16_ps(sum[i], q[kChunks - 1],
                                  as_bh(_mm512_maskz_loadu_epi16(tail, row + 32 * (kChunks - 1))));
      }
      _mm512_store_ps(scratch.scores + lane * kKeyTile + j, sum_each(sum));
    }
  }
}

void score_rows(const AttentionTask& task, const TileScratch& scratch, int keys) {
  switch ((task.head_dim + 31) / 32) {
    case 1:
      return score_rows<1>(task, scratch, keys);
    case 2:
      return score_rows<2>(task, scratch, keys);
    case 3:
      return score_rows<3>(task, scratch, keys);
    case 4:
      return score_rows<4>(task, scratch, keys);
    case 5:
      return score_rows<5>(task, scratch, keys);
    case 6:
      return score_rows<6>(task, scratch, keys);
    case 7:
      return score_rows<7>(task, scratch, keys);
    default:
      return score_rows<8>(task, scratch, keys);
  }
}

// ---- softmax ----

// exp2(m_old - m_new), 0 for a lane that had seen nothing. m_safe stands in for m_new where that is
// -inf.
inline __m512 correction(__m512 m_old, __m512 m_safe) {
  const __mmask16 seen = _mm512_cmp_ps_mask(m_old, _mm512_set1_ps(kMinusInfinity), _CMP_NEQ_OQ);
  return _mm512_maskz_mov_ps(seen, exp2_approx(_mm512_sub_ps(m_old, m_safe)));
}

// Adds biases to scores[key][lane] and sets those a lane does not see to -inf. `first` is the
// tile's first key.
void mask_tile(const AttentionTask& task, const TileScratch& scratch, int first, int keys,
               int vectors) {
  for (int v = 0; v < vectors; ++v) {
    const __m512i low = _mm512_load_si512(scratch.low + 16 * v);
    const __m512i high = _mm512_load_si512(scratch.high + 16 * v);
    const __m512 alibi_q = _mm512_load_ps(scratch.alibi_q + 16 * v);
    const __m512 factor = _mm512_set1_ps(task.alibi_factor);
    for (int j = 0; j < keys; ++j) {
      float* at = scratch.scores + j * kLaneTile + 16 * v;
      const __m512i key = _mm512_set1_epi32(first + j);
      __m512 s = _mm512_load_ps(at);
      if (task.has_alibi)
        s = _mm512_fmadd_ps(factor, _mm512_sub_ps(_mm512_set1_ps(scratch.alibi_k[j]), alibi_q), s);
      const __mmask16 visible =
          _mm512_cmpge_epi32_mask(key, low) & _mm512_cmplt_epi32_mask(key, high);
      _mm512_store_ps(at, _mm512_mask_mov_ps(_mm512_set1_ps(kMinusInfinity), visible, s));
    }
  }
}

// Online softmax of scores[key][lane]; weights go to p[key pair][lane].
void softmax_tile(const TileScratch& scratch, int keys, int vectors) {
  alignas(64) static constexpr uint16_t kInterleave[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i interleave = _mm512_load_si512(kInterleave);
  for (int v = 0; v < vectors; ++v) {
    const float* column = scratch.scores + 16 * v;
    const __m512 m_old = _mm512_load_ps(scratch.m + 16 * v);
    __m512 m0 = m_old, m1 = m_old;
    int j = 0;
    for (; j + 1 < keys; j += 2) {
      m0 = _mm512_max_ps(m0, _mm512_load_ps(column + j * kLaneTile));
      m1 = _mm512_max_ps(m1, _mm512_load_ps(column + (j + 1) * kLaneTile));
    }
    if (j < keys) m0 = _mm512_max_ps(m0, _mm512_load_ps(column + j * kLaneTile));
    const __m512 m_new = _mm512_max_ps(m0, m1);
    const __mmask16 seen = _mm512_cmp_ps_mask(m_new, _mm512_set1_ps(kMinusInfinity), _CMP_NEQ_OQ);
    const __m512 m_safe = _mm512_maskz_mov_ps(seen, m_new);
    const __m512 corr = correction(m_old, m_safe);
    __m512 n0 = _mm512_mul_ps(_mm512_load_ps(scratch.n + 16 * v), corr);
    __m512 n1 = _mm512_setzero_ps();
    uint32_t* p = p_pairs(scratch) + 16 * v;
    for (j = 0; j + 1 < keys; j += 2) {
      const __m512 p0 = exp2_approx(_mm512_sub_ps(_mm512_load_ps(column + j * kLaneTile), m_safe));
      const __m512 p1 =
          exp2_approx(_mm512_sub_ps(_mm512_load_ps(column + (j + 1) * kLaneTile), m_safe));
      n0 = _mm512_add_ps(n0, p0);
      n1 = _mm512_add_ps(n1, p1);
      const __m512i both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(p1, p0));
      _mm512_store_si512(p + j / 2 * kLaneTile, _mm512_permutexvar_epi16(interleave, both));
    }
    if (j < keys) {
      const __m512 p0 = exp2_approx(_mm512_sub_ps(_mm512_load_ps(column + j * kLaneTile), m_safe));
      n0 = _mm512_add_ps(n0, p0);
      const __m512i both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_setzero_ps(), p0));
      _mm512_store_si512(p + j / 2 * kLaneTile, _mm512_permutexvar_epi16(interleave, both));
    }
    _mm512_store_ps(scratch.m + 16 * v, m_new);
    _mm512_store_ps(scratch.n + 16 * v, _mm512_add_ps(n0, n1));
    _mm512_store_ps(scratch.corr + 16 * v, corr);
  }
}

// The same for scores[lane][key], weights to p[lane][key pair].
void softmax_rows(const AttentionTask& task, const TileScratch& scratch, int first, int keys) {
  const __m512i step = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const int padded = (keys + 15) / 16 * 16;
  for (int lane = 0; lane < task.lanes; ++lane) {
    float* row = scratch.scores + lane * kKeyTile;
    const int low = scratch.low[lane], high = std::min(scratch.high[lane], first + keys);
    __m512 top = _mm512_set1_ps(scratch.m[lane]);
    for (int j = 0; j < padded; j += 16) {
      __m512 s = _mm512_load_ps(row + j);
      if (task.has_alibi)
        s = _mm512_fmadd_ps(_mm512_set1_ps(task.alibi_factor),
                            _mm512_sub_ps(_mm512_load_ps(scratch.alibi_k + j),
                                          _mm512_set1_ps(scratch.alibi_q[lane])),
                            s);
      const __m512i key = _mm512_add_epi32(step, _mm512_set1_epi32(first + j));
      const __mmask16 visible = _mm512_cmpge_epi32_mask(key, _mm512_set1_epi32(low)) &
                                _mm512_cmplt_epi32_mask(key, _mm512_set1_epi32(high));
      s = _mm512_mask_mov_ps(_mm512_set1_ps(kMinusInfinity), visible, s);
      _mm512_store_ps(row + j, s);
      top = _mm512_max_ps(top, s);
    }
    const float m_old = scratch.m[lane];
    const float m_new = _mm512_reduce_max_ps(top);
    const __m512 m_safe = _mm512_set1_ps(m_new == kMinusInfinity ? 0.0f : m_new);
    const float corr = _mm512_cvtss_f32(correction(_mm512_set1_ps(m_old), m_safe));
    __m512 sum = _mm512_setzero_ps();
    auto* p = reinterpret_cast<uint16_t*>(p_pairs(scratch) + lane * (kKeyTile / 2));
    for (int j = 0; j < padded; j += 16) {
      const __m512 weights = exp2_approx(_mm512_sub_ps(_mm512_load_ps(row + j), m_safe));
      sum = _mm512_add_ps(sum, weights);
      _mm256_store_si256(reinterpret_cast<__m256i*>(p + j),
                         reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(weights)));
    }
    scratch.m[lane] = m_new;
    scratch.n[lane] = scratch.n[lane] * corr + _mm512_reduce_add_ps(sum);
    scratch.corr[lane] = corr;
  }
}

// ---- values ----

// v[key pair][dimension] = (V[2 pair][dimension], V[2 pair + 1][dimension]).
void interleave_values(const AttentionTask& task, const TileScratch& scratch, int pairs) {
  alignas(64) static constexpr uint16_t kLow[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                    37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                    11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  alignas(64) static constexpr uint16_t kHigh[32] = {16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21,
                                                     53, 22, 54, 23, 55, 24, 56, 25, 57, 26, 58,
                                                     27, 59, 28, 60, 29, 61, 30, 62, 31, 63};
  const __m512i low = _mm512_load_si512(kLow), high = _mm512_load_si512(kHigh);
  const int dim = task.head_dim;
  for (int pair = 0; pair < pairs; ++pair) {
    const auto* a = static_cast<const uint16_t*>(scratch.v_rows[2 * pair]);
    const auto* b = static_cast<const uint16_t*>(scratch.v_rows[2 * pair + 1]);
    uint32_t* out = v_pairs(scratch) + pair * scratch.padded_dim;
    int c = 0;
    for (; c + 32 <= dim; c += 32) {
      const __m512i va = _mm512_loadu_si512(a + c), vb = _mm512_loadu_si512(b + c);
      _mm512_store_si512(out + c, _mm512_permutex2var_epi16(va, low, vb));
      _mm512_store_si512(out + c + 16, _mm512_permutex2var_epi16(va, high, vb));
    }
    if (c < dim) {
      const __mmask32 tail = (__mmask32{1} << (dim - c)) - 1;
      const __m512i va = _mm512_maskz_loadu_epi16(tail, a + c),
                    vb = _mm512_maskz_loadu_epi16(tail, b + c);
      _mm512_store_si512(out + c, _mm512_permutex2var_epi16(va, low, vb));
      if (dim - c > 16) _mm512_store_si512(out + c + 16, _mm512_permutex2var_epi16(va, high, vb));
    }
  }
}

// o[kLanes][16 * kVectors] = o * corr + p v over key pairs. kByKey: p[pair][lane], else
// p[lane][pair].
template <int kLanes, int kVectors, bool kByKey>
inline void value_block(const uint32_t* p, const uint32_t* v, int pairs, int padded_dim,
                        const float* corr, float* o) {
  constexpr int kPairStep = kByKey ? kLaneTile : 1, kLaneStep = kByKey ? 1 : kKeyTile / 2;
  __m512 sum[kLanes][kVectors];
#pragma GCC unroll 6
  for (int r = 0; r < kLanes; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c)
      sum[r][c] =
          _mm512_mul_ps(_mm512_load_ps(o + r * padded_dim + 16 * c), _mm512_set1_ps(corr[r]));
  for (int pair = 0; pair < pairs; ++pair) {
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

template <int kVectors, bool kByKey>
void value_columns(const TileScratch& scratch, int lanes, int pairs, int column) {
  constexpr int kLaneStep = kByKey ? 1 : kKeyTile / 2;
  const uint32_t* v = v_pairs(scratch) + column;
  const auto block = [&](auto count, int lane) {
    value_block<decltype(count)::value, kVectors, kByKey>(
        p_pairs(scratch) + lane * kLaneStep, v, pairs, scratch.padded_dim, scratch.corr + lane,
        scratch.o + lane * scratch.padded_dim + column);
  };
  int lane = 0;
  for (; lane + 6 <= lanes; lane += 6) block(std::integral_constant<int, 6>{}, lane);
  switch (lanes - lane) {
    case 1:
      return block(std::integral_constant<int, 1>{}, lane);
    case 2:
      return block(std::integral_constant<int, 2>{}, lane);
    case 3:
      return block(std::integral_constant<int, 3>{}, lane);
    case 4:
      return block(std::integral_constant<int, 4>{}, lane);
    case 5:
      return block(std::integral_constant<int, 5>{}, lane);
    default:
      return;
  }
}

template <bool kByKey>
void value_tile(const TileScratch& scratch, int lanes, int pairs) {
  int column = 0;
  for (; column + 64 <= scratch.padded_dim; column += 64)
    value_columns<4, kByKey>(scratch, lanes, pairs, column);
  switch ((scratch.padded_dim - column) / 16) {
    case 1:
      return value_columns<1, kByKey>(scratch, lanes, pairs, column);
    case 2:
      return value_columns<2, kByKey>(scratch, lanes, pairs, column);
    case 3:
      return value_columns<3, kByKey>(scratch, lanes, pairs, column);
    default:
      return;
  }
}

// ---- results ----

void store_results(const AttentionTask& task, const TileScratch& scratch) {
  for (int lane = 0; lane < task.lanes; ++lane) {
    if (task.partial_o != nullptr) {
      store_partial(task, scratch, lane);
      continue;
    }
    const float* o = scratch.o + lane * scratch.padded_dim;
    const __m512 inverse = _mm512_set1_ps(inverse_of(scratch.n[lane]));
    const int64_t first = output_element(task, lane);
    for (int c = 0; c < task.head_dim; c += 16) {
      const auto mask =
          static_cast<__mmask16>(task.head_dim - c >= 16 ? 0xffff : (1 << (task.head_dim - c)) - 1);
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

void attention_avx512_bf16(const AttentionTask& task, void* memory) {
  const TileScratch scratch(memory, task.head_dim);
  const bool few = task.lanes <= kFewLanes;
  const int vectors = (task.lanes + 15) / 16;
  const int pairs = task.head_dim / 2;
  if (few) {
    pack_queries_by_row(task, scratch);
  } else {
    pack_queries_by_lane(task, scratch);
  }
  const VisibleRange range = prepare_lanes(task, scratch);
  for (int first = range.begin; first < range.end; first += kKeyTile) {
    const int keys = std::min(kKeyTile, range.end - first);
    gather_rows(task, scratch, first, keys);
    scratch.v_rows[keys] = kZeroRow;  // partner of an odd last key; its weight is 0
    const int key_pairs = (keys + 1) / 2;
    if (few) {
      score_rows(task, scratch, (keys + 15) / 16 * 16);
      softmax_rows(task, scratch, first, keys);
      interleave_values(task, scratch, key_pairs);
      value_tile<false>(scratch, task.lanes, key_pairs);
    } else {
      score_tile(scratch, vectors, pairs, keys);
      if (task.has_alibi || first < range.all_low || first + keys > range.all_high)
        mask_tile(task, scratch, first, keys, vectors);
      softmax_tile(scratch, keys, vectors);
      interleave_values(task, scratch, key_pairs);
      value_tile<true>(scratch, task.lanes, key_pairs);
    }
  }
  store_results(task, scratch);
}

}  // namespace reprise::kernels::cpu

#pragma GCC pop_options
