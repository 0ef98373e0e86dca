// Attention of many lanes over bf16 keys and values with the AVX-512 bf16 dot product.
//
// For each tile of up to 128 keys:
//   scores   S[key][lane]: each pair of a key's dimensions is broadcast and multiplied with the
//            queries, which are packed [pair][lane]. So keys need not be transposed, and a lane's
//            maximum needs no reduction within a vector.
//   values   V is interleaved by key pairs once for all lane tiles of the task (two permutes for 32
//            dimensions).
//   softmax  online: when m grows, older sums are scaled by exp2(m_old - m_new). Weights are
//            rounded to bf16 in key pairs.
//   output   O[lane] = O[lane] * correction + P V: each pair of a lane's weights is broadcast and
//            multiplied with V's interleaved pairs.
// Both products run in blocks of up to 24 accumulators, which together with 4 + 1 operands take
// most of the 32 registers.
#include "core/base/constant.h"
#include "core/kernels/attention/cpu/attention_tile.h"

// Only the code below is compiled for AVX512-BF16; the code of the headers above must run on any
// processor.
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma")

#include "core/kernels/attention/cpu/many_lanes_avx512_bf16-inl.h"

namespace reprise::kernels::cpu {
namespace {

inline uint32_t pair_at(const void* row, int pair) {
  uint32_t bits;
  std::memcpy(&bits, static_cast<const char*>(row) + 4 * pair, sizeof bits);
  return bits;
}

// Number of keys in a block of scores for `vectors` vectors of lanes. The block has 16 or 24
// accumulators, and its keys are whole groups of rows or a part of one group.
constexpr int block_keys(int vectors) { return vectors == 1 ? 16 : vectors == 4 ? 4 : 8; }

// Computes the scores of kKeys keys with 16 * kVectors lanes, and raises top[lane] to the lane's
// largest score. kRowBytes is the row length as a constant, so that one register addresses a group
// of rows; it is 0 if the row length is known only at run time.
template <int kVectors, int kRowBytes, typename Ahead>
inline void score_block(const uint32_t* q, int pairs, const RowGroups& keys, int first,
                        float* scores, float* top, const Ahead& ahead) {
  constexpr int kKeys = block_keys(kVectors);
  const size_t row_bytes = kRowBytes > 0 ? size_t{kRowBytes} : keys.row_bytes;
  const char* group[2] = {keys.row(first), keys.row(first + kKeys / 2)};
  if (kKeys <= kRowGroup) group[1] = group[0] + kKeys / 2 * row_bytes;
  __m512 sum[kKeys][kVectors];
#pragma GCC unroll 16
  for (int j = 0; j < kKeys; ++j)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[j][v] = _mm512_setzero_ps();
  for (int c = 0; c < pairs; ++c) {
    ahead.step(c);
    __m512bh lanes[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      lanes[v] = as_bh(_mm512_load_si512(q + c * kLaneTile + 16 * v));
#pragma GCC unroll 16
    for (int j = 0; j < kKeys; ++j) {
      const char* row = group[j / (kKeys / 2)] + j % (kKeys / 2) * row_bytes;
      const __m512bh key = as_bh(_mm512_set1_epi32(static_cast<int>(pair_at(row, c))));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[j][v] = _mm512_dpbf16_ps(sum[j][v], key, lanes[v]);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    __m512 highest = _mm512_load_ps(top + 16 * v);
#pragma GCC unroll 16
    for (int j = 0; j < kKeys; ++j) {
      highest = _mm512_max_ps(highest, sum[j][v]);
      _mm512_store_ps(scores + j * kLaneTile + 16 * v, sum[j][v]);
    }
    _mm512_store_ps(top + 16 * v, highest);
  }
}

// Computes the scores of a key tile. Rounds the number of keys up to whole blocks, so `top` may
// come from a score beyond `keys`.
template <int kVectors, int kRowBytes, typename Ahead>
void score_tile(const TileScratch& scratch, const uint32_t* q, int pairs, int keys, float* top,
                Ahead& ahead) {
  constexpr int kKeys = block_keys(kVectors);
  for (int j = 0; j < keys; j += kKeys) {
    ahead.take(kKeys, pairs);
    score_block<kVectors, kRowBytes>(q, pairs, scratch.keys, j, scratch.scores + j * kLaneTile, top,
                                     ahead);
  }
}
template <int kVectors, typename Ahead>
void score_tile(const TileScratch& scratch, const uint32_t* q, int pairs, int keys, float* top,
                Ahead& ahead) {
  // 0 stands for any other row length.
  with_constant<128, 256, 0>(scratch.keys.row_bytes, [&](auto row_bytes) {
    score_tile<kVectors, decltype(row_bytes)::value>(scratch, q, pairs, keys, top, ahead);
  });
}

alignas(64) constexpr uint16_t kPairLow[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                               37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                               11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
alignas(64) constexpr uint16_t kPairHigh[32] = {16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21,
                                                53, 22, 54, 23, 55, 24, 56, 25, 57, 26, 58,
                                                27, 59, 28, 60, 29, 61, 30, 62, 31, 63};

// Writes v[pair][dimension] = (V[2 pair][dimension], V[2 pair + 1][dimension]) for each pair of
// keys.
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

// o[kLanes][16 * kVectors] = o * corr + p v over key pairs.
template <int kLanes, int kVectors, typename Ahead>
inline void value_block(const uint32_t* p, const uint32_t* v, int pairs, int padded_dim,
                        const float* corr, float* o, const Ahead& ahead) {
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
      const __m512bh weight = as_bh(_mm512_set1_epi32(static_cast<int>(p[pair * kLaneTile + r])));
#pragma GCC unroll 4
      for (int c = 0; c < kVectors; ++c) sum[r][c] = _mm512_dpbf16_ps(sum[r][c], weight, values[c]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < kLanes; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c) _mm512_store_ps(o + r * padded_dim + 16 * c, sum[r][c]);
}

template <int kVectors, typename Ahead>
void value_columns(const TileScratch& scratch, float* o, int lanes, int pairs, int column,
                   Ahead& ahead, int rows_per_block) {
  const uint32_t* v = static_cast<const uint32_t*>(scratch.v) + column;
  cut_in_sixes(lanes, [&](auto height, int lane) {
    ahead.take(rows_per_block, pairs);
    value_block<decltype(height)::value, kVectors>(
        static_cast<const uint32_t*>(scratch.p) + lane, v, pairs, scratch.padded_dim,
        scratch.corr + lane, o + lane * scratch.padded_dim + column, ahead);
  });
}

// Updates all columns of o for `lanes` lanes; meanwhile prefetches `rows_ahead` rows.
template <typename Ahead>
void value_tile(const TileScratch& scratch, float* o, int lanes, int pairs, Ahead& ahead,
                int rows_ahead) {
  const int blocks = (scratch.padded_dim + 63) / 64 * blocks_of_six(lanes);
  const int share = (rows_ahead + blocks - 1) / blocks;
  int column = 0;
  for (; column + 64 <= scratch.padded_dim; column += 64)
    value_columns<4>(scratch, o, lanes, pairs, column, ahead, share);
  if (column == scratch.padded_dim) return;
  with_constant<1, 2, 3>((scratch.padded_dim - column) / 16, [&](auto vectors) {
    value_columns<decltype(vectors)::value>(scratch, o, lanes, pairs, column, ahead, share);
  });
}

// Computes one lane tile against a key tile. The first lane tile that sees the keys also
// interleaves their values and prefetches: values while it computes scores, the next tile's keys
// while it computes outputs.
template <typename Ahead>
void compute_tile(const AttentionTask& task, const TileScratch& scratch, const LaneTile& tile,
                  int index, int first, int keys, int loaded, bool is_first) {
  const int pairs = task.head_dim / 2, vectors = (tile.lanes + 15) / 16;
  const uint32_t* q = static_cast<const uint32_t*>(scratch.q) + index * pairs * kLaneTile;
  alignas(64) float top[kLaneTile];
  std::fill_n(top, kLaneTile, kMasked);
  Ahead values(scratch.values, 0, is_first ? loaded : 0);
  with_constant<1, 2, 3, 4>(vectors, [&](auto count) {
    score_tile<decltype(count)::value>(scratch, q, pairs, keys, top, values);
  });
  if (is_first) interleave_values(scratch, task.head_dim, (loaded + 1) / 2);
  if (task.has_alibi || keys % block_keys(vectors) != 0 || !tile.range.covers(first, keys))
    mask_tile<RowsOf64>(task, scratch, tile.first, vectors, first, keys, top);
  softmax_tile<RowsOf64>(scratch, tile.first, vectors, keys, top, [] {});
  const int rows_ahead = is_first && loaded == kKeyTile ? kKeyTile : 0;
  Ahead next_keys(scratch.keys, loaded, loaded + rows_ahead);
  value_tile(scratch, scratch.o + tile.first * scratch.padded_dim, tile.lanes, (keys + 1) / 2,
             next_keys, rows_ahead);
}

}  // namespace

void attention_avx512_bf16(const AttentionTask& task, void* memory) {
  if (task.has_few_lanes()) return attention_few_avx512_bf16(task, memory);
  TileScratch scratch(memory, task.head_dim);
  for (int lane = 0; lane < task.lanes; lane += kLaneTile)
    pack_queries<RowsOf64>(task, lane, std::min(kLaneTile, task.lanes - lane),
                           static_cast<uint32_t*>(scratch.q) + lane * task.head_dim / 2);
  int loaded = 0;
  bool is_first = true;
  visit_tiles(
      task, scratch,
      [&](int first, int keys) {
        gather_rows(task, scratch, first, keys, kKeyTile);
        loaded = keys;
        is_first = true;
      },
      [&](const LaneTile& tile, int index, int first, int keys) {
        // With more than 32 lanes, the products take several times as long as reading the rows, so
        // prefetches need not be spread out.
        const auto compute =
            is_first && tile.lanes <= 32 ? compute_tile<LinesAhead> : compute_tile<RowsAhead>;
        compute(task, scratch, tile, index, first, keys, loaded, is_first);
        is_first = false;
      });
  store_results(task, scratch);
}

}  // namespace reprise::kernels::cpu

#pragma GCC pop_options
