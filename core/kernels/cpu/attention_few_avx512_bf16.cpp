// Attention of a few lanes (decode) over bf16 keys and values: bound by memory, so built around
// streaming them.
//
// Scores are dot products along head_dim, 16 keys at a time, summed by a transposing tree. Values
// are taken in key pairs: one lane multiplies them as they come, several go through an interleaved
// copy in cache. While the keys of a tile are read its values are fetched ahead, and with the
// values the next tile's keys: two streams that a hardware prefetcher alone would restart at each
// switch.
#include "core/kernels/cpu/attention_tile.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma")

#include "core/kernels/cpu/avx512_bf16-inl.h"

namespace reprise::kernels::cpu {
namespace {

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

void pack_queries(const AttentionTask& task, const TileScratch& scratch) {
  const int width = (task.head_dim + 31) / 32 * 32;
  for (int lane = 0; lane < task.lanes; ++lane) {
    const float* row = query_of(task, lane);
    uint16_t* packed = static_cast<uint16_t*>(scratch.q) + lane * width;
    for (int c = 0; c < width; ++c)
      packed[c] = c < task.head_dim ? bf16(row[c] * task.scale_log2).bits : uint16_t{0};
  }
}

inline void prefetch_row(const void* row, int bytes) {
  for (int offset = 0; offset < bytes; offset += 64)
    _mm_prefetch(static_cast<const char*>(row) + offset, _MM_HINT_T0);
}

// scores[lane][key] for a whole number of 16 keys.
template <int kChunks>
void score_rows(const AttentionTask& task, const TileScratch& scratch, int keys) {
  const int last = task.head_dim - 32 * (kChunks - 1);
  const __mmask32 tail = last >= 32 ? ~__mmask32{0} : (__mmask32{1} << last) - 1;
  for (int j = 0; j < keys; j += 16) {
    for (int i = 0; i < 16; ++i)
      prefetch_row(scratch.k_rows[j + i + kKeysAhead], 2 * task.head_dim);
    for (int lane = 0; lane < task.lanes; ++lane) {
      const auto* q = static_cast<const uint16_t*>(scratch.q) + lane * 32 * kChunks;
      __m512 sum[16];
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) {
        const auto* row = static_cast<const uint16_t*>(scratch.k_rows[j + i]);
        sum[i] = _mm512_setzero_ps();
        for (int c = 0; c + 1 < kChunks; ++c)
          sum[i] = _mm512_dpbf16_ps(sum[i], as_bh(_mm512_load_si512(q + 32 * c)),
                                    as_bh(_mm512_loadu_si512(row + 32 * c)));
        sum[i] = _mm512_dpbf16_ps(sum[i], as_bh(_mm512_load_si512(q + 32 * (kChunks - 1))),
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

// Online softmax of scores[lane][key], weights to p[lane][key pair].
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
      s = _mm512_mask_mov_ps(_mm512_set1_ps(kMasked), visible, s);
      _mm512_store_ps(row + j, s);
      top = _mm512_max_ps(top, s);
    }
    const __m512 m_new = _mm512_set1_ps(_mm512_reduce_max_ps(top));
    const __m512 m_safe = safe_maximum(m_new);
    const float corr = _mm512_cvtss_f32(correction(_mm512_set1_ps(scratch.m[lane]), m_safe));
    __m512 sum = _mm512_setzero_ps();
    auto* p =
        reinterpret_cast<uint16_t*>(static_cast<uint32_t*>(scratch.p) + lane * (kKeyTile / 2));
    for (int j = 0; j < padded; j += 16) {
      const __m512 weights = exp2_weight(_mm512_sub_ps(_mm512_load_ps(row + j), m_safe));
      sum = _mm512_add_ps(sum, weights);
      _mm256_store_si256(reinterpret_cast<__m256i*>(p + j),
                         reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(weights)));
    }
    scratch.m[lane] = _mm512_cvtss_f32(m_new);
    scratch.n[lane] = scratch.n[lane] * corr + _mm512_reduce_add_ps(sum);
    scratch.corr[lane] = corr;
  }
}

// One lane whose head_dim is kChunks * 32: o = o * corr + p v straight from the value rows.
template <int kChunks>
void value_row(const TileScratch& scratch, int pairs) {
  constexpr int kRowBytes = 64 * kChunks;
  const __m512i low = _mm512_load_si512(kPairLow), high = _mm512_load_si512(kPairHigh);
  const auto* p = static_cast<const uint32_t*>(scratch.p);
  const __m512 corr = _mm512_set1_ps(scratch.corr[0]);
  __m512 sum[2 * kChunks];
#pragma GCC unroll 16
  for (int c = 0; c < 2 * kChunks; ++c)
    sum[c] = _mm512_mul_ps(_mm512_load_ps(scratch.o + 16 * c), corr);
  for (int pair = 0; pair < pairs; ++pair) {
    const auto* a = static_cast<const uint16_t*>(scratch.v_rows[2 * pair]);
    const auto* b = static_cast<const uint16_t*>(scratch.v_rows[2 * pair + 1]);
    const __m512bh weight = as_bh(_mm512_set1_epi32(static_cast<int>(p[pair])));
    prefetch_row(scratch.v_rows[2 * pair + kKeysAhead], kRowBytes);
    prefetch_row(scratch.v_rows[2 * pair + 1 + kKeysAhead], kRowBytes);
#pragma GCC unroll 8
    for (int c = 0; c < kChunks; ++c) {
      const __m512i va = _mm512_loadu_si512(a + 32 * c), vb = _mm512_loadu_si512(b + 32 * c);
      sum[2 * c] =
          _mm512_dpbf16_ps(sum[2 * c], weight, as_bh(_mm512_permutex2var_epi16(va, low, vb)));
      sum[2 * c + 1] =
          _mm512_dpbf16_ps(sum[2 * c + 1], weight, as_bh(_mm512_permutex2var_epi16(va, high, vb)));
    }
  }
#pragma GCC unroll 16
  for (int c = 0; c < 2 * kChunks; ++c) _mm512_store_ps(scratch.o + 16 * c, sum[c]);
}

void add_values(const AttentionTask& task, const TileScratch& scratch, int pairs) {
  if (task.lanes == 1 && task.head_dim == 128) return value_row<4>(scratch, pairs);
  if (task.lanes == 1 && task.head_dim == 64) return value_row<2>(scratch, pairs);
  for (int j = 0; j < 2 * pairs; ++j)
    prefetch_row(scratch.v_rows[j + kKeysAhead], 2 * task.head_dim);
  interleave_values(scratch, task.head_dim, pairs);
  value_tile<false>(scratch, scratch.o, task.lanes, pairs);
}

}  // namespace

void attention_few_avx512_bf16(const AttentionTask& task, void* memory) {
  const TileScratch scratch(memory, task.head_dim);
  pack_queries(task, scratch);
  visit_tiles(
      task, scratch,
      [&](int first, int keys) {
        // Rows of the next tile are fetched ahead; where there is none, the last one again, which
        // costs nothing.
        const int known = std::min(keys + kKeysAhead, task.tokens - first);
        gather_rows(task, scratch, first, known);
        for (int j = known; j < keys + kKeysAhead + kKeyRowSlack; ++j) {
          scratch.k_rows[j] = scratch.k_rows[known - 1];
          scratch.v_rows[j] = scratch.v_rows[known - 1];
        }
      },
      [&](const LaneTile&, int, int first, int keys) {
        score_rows(task, scratch, (keys + 15) / 16 * 16);
        softmax_rows(task, scratch, first, keys);
        if (keys % 2 != 0) scratch.v_rows[keys] = kZeroRow;
        add_values(task, scratch, (keys + 1) / 2);
      });
  store_results(task, scratch);
}

}  // namespace reprise::kernels::cpu

#pragma GCC pop_options
