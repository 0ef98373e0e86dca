// Attention of many lanes over bf16 keys and values with AMX's tiles, which multiply 16 times as
// fast as AVX-512's bf16 dot product.
//
// For each tile of up to 128 keys, in tiles of 16 x 16 results:
//   scores   S[key][lane]: 16 keys as they lie in the cache, times queries packed [pair][lane].
//   softmax  as in attention_avx512_bf16.cpp.
//   values   V is transposed once for all lane tiles of the task.
//   output   O[dimension][lane] = O[dimension][lane] * correction + V[dimension][key]
//   P[pair][lane],
//            so that the weights are used as the softmax leaves them. Rescaled only if a maximum
//            grew: to multiply by 1 changes no bit, so a lane's result does not depend on the
//            others.
#include "core/base/constant.h"
#include "core/device/cpu/tiles_amx-inl.h"
#include "core/kernels/attention/cpu/attention_tile.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma")

#include "core/kernels/attention/cpu/many_lanes_avx512_bf16-inl.h"

namespace reprise::kernels::cpu {
namespace {

using reprise::cpu::kTileBytes;
using reprise::cpu::kTileRows;
using reprise::cpu::load_tile;
using reprise::cpu::multiply_tile;
using reprise::cpu::store_tile;
using reprise::cpu::zero_tile;

// Keys or dimensions of a block of results, and bf16 of a tile's row.
constexpr int kBlock = 2 * kTileRows;
constexpr size_t kLaneBytes = kLaneTile * sizeof(float);  // of a row of scores, weights or outputs

constexpr int blocks_of(int count) { return (count + kBlock - 1) / kBlock; }

// The keys of a key tile, 16 by 16.
struct KeyTiles {
  const char* rows[kKeyTile / kTileRows] = {};  // 16 rows, row_bytes apart
  size_t row_bytes = 0;
};

// Copies those that do not follow one another to scratch.k.
KeyTiles find_keys(const TileScratch& scratch, int keys) {
  KeyTiles tiles{.row_bytes = scratch.keys.row_bytes};
  const size_t half = kRowGroup * tiles.row_bytes;
  for (int i = 0; i < 2 * blocks_of(keys); ++i) {
    const char* low = scratch.keys.group(2 * i);
    const char* high = scratch.keys.group(2 * i + 1);
    tiles.rows[i] = low;
    if (high == low + half) continue;
    char* copy = static_cast<char*>(scratch.k) + static_cast<size_t>(i) * 2 * half;
    std::memcpy(copy, low, half);
    std::memcpy(copy + half, high, half);
    tiles.rows[i] = copy;
  }
  return tiles;
}

// V[dimension][key]: tiles of 16 dimensions and 32 keys, one after the other, by keys and then by
// dimensions; zero beyond `keys`.
void transpose_values(const TileScratch& scratch, int dim, int keys) {
  char* out = static_cast<char*>(scratch.v);
  for (int key = 0; key < keys; key += kBlock, out += static_cast<size_t>(dim) * kTileBytes)
    for (int c = 0; c < dim; c += kBlock) {
      __m512i low[16], high[16];
      for (int pair = 0; pair < 16; ++pair) {
        const int j = key + 2 * pair;
        const __m512i a =
            j < keys ? _mm512_loadu_si512(row_at(scratch.values, j) + c) : _mm512_setzero_si512();
        const __m512i b = j + 1 < keys ? _mm512_loadu_si512(row_at(scratch.values, j + 1) + c)
                                       : _mm512_setzero_si512();
        low[pair] = _mm512_unpacklo_epi16(a, b);
        high[pair] = _mm512_unpackhi_epi16(a, b);
      }
      transpose(low);
      transpose(high);
      // Unpacking leaves the even fours of the dimensions in `low`, the odd ones in `high`.
      for (int i = 0; i < 16; ++i) {
        const int d = c + i / 4 * 8 + i % 4;
        _mm512_store_si512(out + d * kTileBytes, low[i]);
        _mm512_store_si512(out + (d + 4) * kTileBytes, high[i]);
      }
    }
}

// Scores of 32 keys with 16 * kVectors lanes.
template <int kVectors>
inline void score_block(const KeyTiles& keys, int block, const uint32_t* q, int dim,
                        float* scores) {
  const char *first = keys.rows[2 * block], *second = keys.rows[2 * block + 1];
  zero_tile<0>();
  zero_tile<1>();
  if constexpr (kVectors == 2) {
    zero_tile<2>();
    zero_tile<3>();
  }
  for (int c = 0; c < dim; c += kBlock) {
    load_tile<4>(first + 2 * c, keys.row_bytes);
    load_tile<5>(second + 2 * c, keys.row_bytes);
    load_tile<6>(q + c / 2 * kLaneTile, kLaneBytes);
    multiply_tile<0, 4, 6>();
    multiply_tile<1, 5, 6>();
    if constexpr (kVectors == 2) {
      load_tile<7>(q + c / 2 * kLaneTile + 16, kLaneBytes);
      multiply_tile<2, 4, 7>();
      multiply_tile<3, 5, 7>();
    }
  }
  store_tile<0>(scores, kLaneBytes);
  store_tile<1>(scores + kTileRows * kLaneTile, kLaneBytes);
  if constexpr (kVectors == 2) {
    store_tile<2>(scores + 16, kLaneBytes);
    store_tile<3>(scores + kTileRows * kLaneTile + 16, kLaneBytes);
  }
}

// Output of 32 dimensions for 16 * kVectors lanes, over blocks of 32 keys.
template <int kVectors>
inline void value_block(const char* v, size_t v_block_bytes, const uint32_t* p, int blocks,
                        bool is_first, float* o) {
  if (is_first) {
    zero_tile<0>();
    zero_tile<1>();
  } else {
    load_tile<0>(o, kLaneBytes);
    load_tile<1>(o + kTileRows * kLaneTile, kLaneBytes);
  }
  if constexpr (kVectors == 2) {
    if (is_first) {
      zero_tile<2>();
      zero_tile<3>();
    } else {
      load_tile<2>(o + 16, kLaneBytes);
      load_tile<3>(o + kTileRows * kLaneTile + 16, kLaneBytes);
    }
  }
  for (int block = 0; block < blocks; ++block, v += v_block_bytes, p += 16 * kLaneTile) {
    load_tile<4>(v, kTileBytes);
    load_tile<5>(v + kTileRows * kTileBytes, kTileBytes);
    load_tile<6>(p, kLaneBytes);
    multiply_tile<0, 4, 6>();
    multiply_tile<1, 5, 6>();
    if constexpr (kVectors == 2) {
      load_tile<7>(p + 16, kLaneBytes);
      multiply_tile<2, 4, 7>();
      multiply_tile<3, 5, 7>();
    }
  }
  store_tile<0>(o, kLaneBytes);
  store_tile<1>(o + kTileRows * kLaneTile, kLaneBytes);
  if constexpr (kVectors == 2) {
    store_tile<2>(o + 16, kLaneBytes);
    store_tile<3>(o + kTileRows * kLaneTile + 16, kLaneBytes);
  }
}

// Calls use(constant number of vectors, first lane) for blocks of 32 lanes, and of 16 at the end.
template <typename Use>
void visit_lanes(int vectors, Use&& use) {
  int vector = 0;
  for (; vector + 2 <= vectors; vector += 2) use(std::integral_constant<int, 2>{}, 16 * vector);
  if (vector < vectors) use(std::integral_constant<int, 1>{}, 16 * vector);
}

// Raises top[lane] to the maximum of the scores.
void find_top(const float* scores, int vectors, int keys, float* top) {
  for (int v = 0; v < vectors; ++v) {
    __m512 highest[4];
    for (__m512& each : highest) each = _mm512_load_ps(top + 16 * v);
    int j = 0;
    for (; j + 4 <= keys; j += 4)
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        highest[i] =
            _mm512_max_ps(highest[i], _mm512_load_ps(scores + (j + i) * kLaneTile + 16 * v));
    for (; j < keys; ++j)
      highest[0] = _mm512_max_ps(highest[0], _mm512_load_ps(scores + j * kLaneTile + 16 * v));
    _mm512_store_ps(top + 16 * v, _mm512_max_ps(_mm512_max_ps(highest[0], highest[1]),
                                                _mm512_max_ps(highest[2], highest[3])));
  }
}

// Zeroes the weights of pairs [begin, end).
void zero_weights(const TileScratch& scratch, int vectors, int begin, int end) {
  auto* p = static_cast<uint32_t*>(scratch.p);
  for (int pair = begin; pair < end; ++pair)
    for (int v = 0; v < vectors; ++v)
      _mm512_store_si512(p + pair * kLaneTile + 16 * v, _mm512_setzero_si512());
}

// o[dimension][lane] *= corr[lane].
void rescale(const TileScratch& scratch, float* o, int dim, int vectors) {
  const __m512 one = _mm512_set1_ps(1.0f);
  for (int v = 0; v < vectors; ++v) {
    const __m512 corr = _mm512_load_ps(scratch.corr + 16 * v);
    if (_mm512_cmp_ps_mask(corr, one, _CMP_NEQ_UQ) == 0) continue;
    for (int c = 0; c < dim; ++c) {
      float* at = o + c * kLaneTile + 16 * v;
      _mm512_store_ps(at, _mm512_mul_ps(_mm512_load_ps(at), corr));
    }
  }
}

// out[lane][dimension] = o[dimension][lane].
void transpose_outputs(const TileScratch& scratch, const float* o, int dim, int lanes, float* out) {
  for (int lane = 0; lane < lanes; lane += 16)
    for (int c = 0; c < dim; c += 16) {
      __m512i rows[16];
      for (int i = 0; i < 16; ++i) rows[i] = _mm512_load_si512(o + (c + i) * kLaneTile + lane);
      transpose(rows);
      for (int i = 0; i < std::min(16, lanes - lane); ++i)
        _mm512_store_si512(out + (lane + i) * scratch.padded_dim + c, rows[i]);
    }
}

// The tiles of a task: what they share of the current key tile, and which have outputs.
class AmxTiles {
 public:
  AmxTiles(const AttentionTask& task, TileScratch& scratch) : task_(task), scratch_(scratch) {
    for (int lane = 0; lane < task.lanes; lane += kLaneTile)
      pack_queries(task, lane, std::min(kLaneTile, task.lanes - lane), queries(lane / kLaneTile));
  }

  void load(int first, int keys) {
    gather_rows(task_, scratch_, first, keys, kKeyTile);
    loaded_ = keys;
    is_first_ = true;
    keys_ = find_keys(scratch_, keys);
  }

  // The first lane tile to see the keys also transposes their values and prefetches: values during
  // the scores, the next tile's keys during the output.
  void compute(const LaneTile& tile, int index, int first, int keys) {
    const int vectors = (tile.lanes + 15) / 16, blocks = blocks_of(keys), dim = task_.head_dim;
    score(vectors, index, blocks);
    if (is_first_) transpose_values(scratch_, dim, loaded_);
    alignas(64) float top[kLaneTile];
    std::fill_n(top, kLaneTile, kMasked);
    if (task_.has_alibi || !tile.range.covers(first, keys)) {
      mask_tile(task_, scratch_, tile.first, vectors, first, keys, top);
    } else {
      find_top(scratch_.scores, vectors, keys, top);
    }
    softmax_tile(scratch_, tile.first, vectors, keys, top);
    zero_weights(scratch_, vectors, (keys + 1) / 2, blocks * kBlock / 2);
    add_values(vectors, index, blocks);
    is_first_ = false;
  }

  void store() {
    for (int lane = 0; lane < task_.lanes; lane += kLaneTile)
      if (has_outputs_[lane / kLaneTile])
        transpose_outputs(scratch_, outputs(lane / kLaneTile), task_.head_dim,
                          std::min(kLaneTile, task_.lanes - lane),
                          scratch_.o + lane * scratch_.padded_dim);
    store_results(task_, scratch_);
  }

 private:
  [[nodiscard]] uint32_t* queries(int index) const {
    return static_cast<uint32_t*>(scratch_.q) + index * kLaneTile * task_.head_dim / 2;
  }
  [[nodiscard]] float* outputs(int index) const {
    return scratch_.o_by_dimension + index * kLaneTile * task_.head_dim;
  }

  void score(int vectors, int index, int blocks) {
    RowsAhead values(scratch_.values, 0, is_first_ ? loaded_ : 0);
    for (int block = 0; block < blocks; ++block) {
      values.take(kBlock);
      visit_lanes(vectors, [&](auto count, int lane) {
        score_block<decltype(count)::value>(keys_, block, queries(index) + lane, task_.head_dim,
                                            scratch_.scores + block * kBlock * kLaneTile + lane);
      });
    }
  }

  void add_values(int vectors, int index, int blocks) {
    const int dim = task_.head_dim;
    const auto* v = static_cast<const char*>(scratch_.v);
    const auto* p = static_cast<const uint32_t*>(scratch_.p);
    float* o = outputs(index);
    const bool is_new = !has_outputs_[index];
    has_outputs_[index] = true;
    if (!is_new) rescale(scratch_, o, dim, vectors);
    const int rows_ahead = is_first_ && loaded_ == kKeyTile ? kKeyTile : 0;
    RowsAhead next(scratch_.keys, loaded_, loaded_ + rows_ahead);
    for (int c = 0; c < dim; c += kBlock) {
      next.take(kKeyTile / (dim / kBlock));
      visit_lanes(vectors, [&](auto count, int lane) {
        value_block<decltype(count)::value>(v + c * kTileBytes,
                                            static_cast<size_t>(dim) * kTileBytes, p + lane, blocks,
                                            is_new, o + c * kLaneTile + lane);
      });
    }
  }

  const AttentionTask& task_;
  TileScratch& scratch_;
  KeyTiles keys_;
  int loaded_ = 0;
  bool is_first_ = true;
  bool has_outputs_[kTaskTiles] = {};
};

}  // namespace

void attention_amx(const AttentionTask& task, void* memory) {
  TileScratch scratch(memory, task.head_dim);
  const reprise::cpu::WholeTiles configured;
  AmxTiles tiles(task, scratch);
  visit_tiles(
      task, scratch, [&](int first, int keys) { tiles.load(first, keys); },
      [&](const LaneTile& tile, int index, int first, int keys) {
        tiles.compute(tile, index, first, keys);
      });
  tiles.store();
}

}  // namespace reprise::kernels::cpu

#pragma GCC pop_options
