// Attention of many lanes (attention_task.h) over bf16 keys and values with AMX's tiles. Tiles
// multiply 28 times as fast as AVX-512's bf16 dot product (measured on two cores of a Xeon).
//
// For each tile of up to 128 keys and 64 lanes:
//   scores   S[key][lane]: 16 keys as they lie in the cache, times the queries, which are packed as
//            [pair of dimensions][lane].
//   softmax  as in attention_avx512_bf16.cpp.
//   values   V is transposed once for all lanes of the task.
//   output   O[dimension][lane] = O[dimension][lane] * correction
//                                 + V[dimension][key] P[pair of keys][lane]
//            With lanes as columns, the product reads the softmax's weights P in the layout in
//            which the softmax wrote them. O is rescaled only if a maximum grew. A factor of 1
//            changes no bit, so a lane's result does not depend on other lanes.
//
// Most tiles come from the L2, and a product of tiles waits for them: it takes 8 ns instead of 5 ns
// (Xeon with AMX and 2 MiB of L2, head_dim 128). Computing the softmax of some lanes between the
// products of other lanes was tried: it took 0.97 of the time at head_dim 64, and 1.04 at head_dim
// 128.
#include "core/base/constant.h"
#include "core/device/cpu/tiles_amx-inl.h"
#include "core/kernels/attention/cpu/attention_tile.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma")

#include "core/kernels/attention/cpu/many_lanes_avx512_bf16-inl.h"

namespace reprise::kernels::cpu {
namespace {

using namespace reprise::cpu::tiles;

// Number of keys, dimensions or lanes along one edge of a block of results, which has two by two
// tiles. It is also the number of bf16 in a row of a tile.
constexpr int kBlock = 2 * kTileRows;
// Scores, weights, queries and outputs lie in panels of 16 lanes, in which a tile's rows follow one
// another.
using Layout = PanelsOf16;
constexpr int kPanel = 16;

constexpr int blocks_of(int count) { return (count + kBlock - 1) / kBlock; }

// Addresses of the rows of a key tile, in groups of 16 rows.
struct KeyTiles {
  const char* rows[kKeyTile / kTileRows] = {};  // 16 rows, row_bytes apart
  size_t row_bytes = 0;
};

// Prefetches the cache lines of the next key tile, keys before values, while the current tile is
// computed: a few lines at each of many places, because a burst would fill the queue of misses, and
// further prefetches would wait. (Xeon, 32 rows over keys in DRAM: with two bursts a tile, 41 % of
// the time was spent waiting.) The lines go to the L2, because two tiles of head_dim 128 exceed the
// L1.
class NextTile {
 public:
  // Cache lines to prefetch at each place in the code. For 32 lanes they add up to a key tile of
  // head_dim 128.
  static constexpr int kAtProduct = 8, kAtTranspose = 8, kAtMaximum = 4, kAtWeights = 4;

  // Sets what to prefetch: groups [first, first + count) of `keys` and of `values`; nothing if
  // `count` is 0.
  void begin(const RowGroups& keys, const RowGroups& values, int first, int count) {
    keys_ = &keys;
    values_ = &values;
    group_bytes_ = kRowGroup * keys.row_bytes;
    first_ = first;
    end_ = 2 * count;
    group_ = 0;
    line_ = stop_ = nullptr;
  }
  // Prefetches the next `lines` cache lines, or fewer if fewer are left.
  [[gnu::always_inline]] void take(int lines) {
    for (; lines > 0; --lines, line_ += 64) {
      if (line_ == stop_ && !next_group()) return;
      __builtin_prefetch(line_, 0, 2);
    }
  }

 private:
  bool next_group() {
    if (group_ == end_) return false;
    const int half = end_ / 2;
    line_ = group_ < half ? keys_->group(first_ + group_) : values_->group(first_ + group_ - half);
    stop_ = line_ + group_bytes_;
    ++group_;
    return true;
  }

  const RowGroups *keys_ = nullptr, *values_ = nullptr;
  size_t group_bytes_ = 0;
  int first_ = 0, group_ = 0, end_ = 0;
  const char *line_ = nullptr, *stop_ = nullptr;
};

// Finds the rows of a key tile. Copies rows that do not follow one another to scratch.k.
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

// Writes V[dimension][key] to scratch.v, as consecutive tiles of 16 dimensions and 32 keys: for
// each 32 keys the tiles of all dimensions. Keys beyond `keys` are zero.
void transpose_values(const TileScratch& scratch, int dim, int keys, NextTile& next) {
  char* out = static_cast<char*>(scratch.v);
  for (int key = 0; key < keys; key += kBlock, out += static_cast<size_t>(dim) * kTileBytes)
    for (int c = 0; c < dim; c += kBlock) {
      next.take(NextTile::kAtTranspose);
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
      // Unpacking leaves the even groups of four dimensions in `low`, and the odd groups in `high`.
      for (int i = 0; i < 16; ++i) {
        const int d = c + i / 4 * 8 + i % 4;
        _mm512_store_si512(out + d * kTileBytes, low[i]);
        _mm512_store_si512(out + (d + 4) * kTileBytes, high[i]);
      }
    }
}

// The matrix product that gives scores or outputs. Its results come in blocks of two tiles of rows
// by up to two tiles of lanes; each block is a sum over steps.
struct Products {
  // For each block, addresses of the lower and of the upper 16 rows of its first step. A row has 32
  // bf16; rows are row_bytes apart.
  const char* low[kMaxHeadDim / kBlock] = {};
  const char* high[kMaxHeadDim / kBlock] = {};
  size_t row_bytes = 0, step_bytes = 0;
  // lanes: the right factor, [pair][16 lanes], of which each step takes 16 pairs. lanes_vector:
  // distance to the second 16 lanes.
  const uint32_t* lanes = nullptr;
  size_t lanes_vector = 0;
  float* results = nullptr;  // [blocks][32][16], and the second vector
  size_t results_vector = 0;
  bool is_sum = false;  // true: adds to the results
  int blocks = 0, steps = 0, vectors = 0;

  void run(NextTile& next) const {
    for (int block = 0; block < blocks; ++block) {
      int vector = 0;
      for (; vector + 2 <= vectors; vector += 2) run<2>(block, vector, next);
      if (vector < vectors) run<1>(block, vector, next);
    }
  }

 private:
  template <int kVectors>
  void run(int block, int vector, NextTile& next) const {
    constexpr int kTile = kTileRows * kPanel;
    float* first = results + static_cast<size_t>(vector) * results_vector + block * 2 * kTile;
    float* second = first + results_vector;
    const uint32_t* lane = lanes + static_cast<size_t>(vector) * lanes_vector;
    if (is_sum) {
      load_tile<0>(first, kTileBytes);
      load_tile<1>(first + kTile, kTileBytes);
      if constexpr (kVectors == 2) {
        load_tile<2>(second, kTileBytes);
        load_tile<3>(second + kTile, kTileBytes);
      }
    } else {
      zero_sums();
    }
    const char *a = low[block], *b = high[block];
    for (int step = 0; step < steps; ++step, a += step_bytes, b += step_bytes, lane += kTile) {
      load_tile<4>(a, row_bytes);
      load_tile<6>(lane, kTileBytes);
      load_tile<5>(b, row_bytes);
      multiply_tile<0, 4, 6>();
      multiply_tile<1, 5, 6>();
      next.take(NextTile::kAtProduct);
      if constexpr (kVectors == 2) {
        load_tile<7>(lane + lanes_vector, kTileBytes);
        multiply_tile<2, 4, 7>();
        multiply_tile<3, 5, 7>();
      }
    }
    store_tile<0>(first, kTileBytes);
    store_tile<1>(first + kTile, kTileBytes);
    if constexpr (kVectors == 2) {
      store_tile<2>(second, kTileBytes);
      store_tile<3>(second + kTile, kTileBytes);
    }
  }
};

// Raises top[lane] to the largest score of each lane.
void find_top(const float* scores, int vectors, int keys, float* top, NextTile& next) {
  for (int v = 0; v < vectors; ++v, scores += Layout::kScoreVector, top += 16) {
    __m512 highest[4];
    for (__m512& each : highest) each = _mm512_load_ps(top);
    int j = 0;
    for (; j + 4 <= keys; j += 4) {
      next.take(NextTile::kAtMaximum);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        highest[i] = _mm512_max_ps(highest[i], _mm512_load_ps(scores + (j + i) * kPanel));
    }
    for (; j < keys; ++j)
      highest[0] = _mm512_max_ps(highest[0], _mm512_load_ps(scores + j * kPanel));
    _mm512_store_ps(top, _mm512_max_ps(_mm512_max_ps(highest[0], highest[1]),
                                       _mm512_max_ps(highest[2], highest[3])));
  }
}

// Zeroes the weights of key pairs [begin, end).
void zero_weights(uint32_t* p, int vectors, int begin, int end) {
  for (int v = 0; v < vectors; ++v, p += Layout::kWeightVector)
    for (int pair = begin; pair < end; ++pair)
      _mm512_store_si512(p + pair * kPanel, _mm512_setzero_si512());
}

// o[dimension][lane] *= corr[lane].
void rescale(const float* corr_of_lanes, float* o, int dim, int vectors) {
  const __m512 one = _mm512_set1_ps(1.0f);
  for (int v = 0; v < vectors; ++v, o += dim * kPanel) {
    const __m512 corr = _mm512_load_ps(corr_of_lanes + 16 * v);
    if (_mm512_cmp_ps_mask(corr, one, _CMP_NEQ_UQ) == 0) continue;
    for (int c = 0; c < dim; ++c)
      _mm512_store_ps(o + c * kPanel, _mm512_mul_ps(_mm512_load_ps(o + c * kPanel), corr));
  }
}

// out[lane][dimension] = o[dimension][lane].
void transpose_outputs(const TileScratch& scratch, const float* o, int dim, int lanes, float* out) {
  for (int lane = 0; lane < lanes; lane += 16, o += dim * kPanel)
    for (int c = 0; c < dim; c += 16) {
      __m512i rows[16];
      for (int i = 0; i < 16; ++i) rows[i] = _mm512_load_si512(o + (c + i) * kPanel);
      transpose(rows);
      for (int i = 0; i < std::min(16, lanes - lane); ++i)
        _mm512_store_si512(out + (lane + i) * scratch.padded_dim + c, rows[i]);
    }
}

// Computes the lanes of a task against one key tile after another.
class Lanes {
 public:
  Lanes(const AttentionTask& task, TileScratch& scratch) : task_(task), scratch_(scratch) {
    for (int lane = 0; lane < task.lanes; lane += kLaneTile)
      pack_queries<Layout>(task, lane, std::min(kLaneTile, task.lanes - lane), queries(lane));
  }

  void load(int first, int keys) {
    gather_rows(task_, scratch_, first, keys, kKeyTile);
    keys_ = find_keys(scratch_, keys);
    loaded_ = keys;
    const int groups = keys == kKeyTile ? kKeyTile / kRowGroup : 0;
    next_.begin(scratch_.keys, scratch_.values, groups, groups);
    is_first_ = true;
  }

  // Computes one lane tile against the loaded key tile. The first lane tile that sees the keys also
  // transposes their values. Every lane tile prefetches what is left of the next key tile.
  void compute(const LaneTile& tile, int first, int keys) {
    const bool is_masked = task_.has_alibi || !tile.range.covers(first, keys);
    const int vectors = (tile.lanes + 15) / 16;
    score(tile.first, vectors, keys);
    if (is_first_) transpose_values(scratch_, task_.head_dim, loaded_, next_);
    alignas(64) float top[kLaneTile];
    std::fill_n(top, kLaneTile, kMasked);
    if (is_masked) {
      mask_tile<Layout>(task_, scratch_, tile.first, vectors, first, keys, top);
    } else {
      find_top(scratch_.scores, vectors, keys, top, next_);
    }
    softmax_tile<Layout>(scratch_, tile.first, vectors, keys, top,
                         [&] { next_.take(NextTile::kAtWeights); });
    add_values(tile.first, vectors, keys);
    is_first_ = false;
  }

  void store() {
    for (int lane = 0; lane < task_.lanes; lane += kLaneTile)
      if (has_outputs_[lane / kLaneTile])
        transpose_outputs(scratch_, outputs(lane), task_.head_dim,
                          std::min(kLaneTile, task_.lanes - lane),
                          scratch_.o + lane * scratch_.padded_dim);
    store_results(task_, scratch_);
  }

 private:
  // Returns the queries of the lane tile that begins at `lane`; outputs() returns its outputs.
  [[nodiscard]] uint32_t* queries(int lane) const {
    return static_cast<uint32_t*>(scratch_.q) + lane * task_.head_dim / 2;
  }
  [[nodiscard]] float* outputs(int lane) const {
    return scratch_.o_by_dimension + lane * task_.head_dim;
  }

  void score(int lane, int vectors, int keys) {
    const int dim = task_.head_dim;
    Products products{.row_bytes = keys_.row_bytes,
                      .step_bytes = kTileBytes,
                      .lanes = queries(lane),
                      .lanes_vector = static_cast<size_t>(Layout::query_vector(dim / 2)),
                      .results = scratch_.scores,
                      .results_vector = Layout::kScoreVector,
                      .blocks = blocks_of(keys),
                      .steps = dim / kBlock,
                      .vectors = vectors};
    for (int block = 0; block < products.blocks; ++block) {
      products.low[block] = keys_.rows[2 * block];
      products.high[block] = keys_.rows[2 * block + 1];
    }
    products.run(next_);
  }

  void add_values(int lane, int vectors, int keys) {
    const int dim = task_.head_dim;
    zero_weights(static_cast<uint32_t*>(scratch_.p), vectors, (keys + 1) / 2,
                 blocks_of(keys) * kBlock / 2);
    bool& has_outputs = has_outputs_[lane / kLaneTile];
    if (has_outputs) rescale(scratch_.corr, outputs(lane), dim, vectors);
    Products products{.row_bytes = kTileBytes,
                      .step_bytes = static_cast<size_t>(dim) * kTileBytes,
                      .lanes = static_cast<const uint32_t*>(scratch_.p),
                      .lanes_vector = Layout::kWeightVector,
                      .results = outputs(lane),
                      .results_vector = static_cast<size_t>(dim * kPanel),
                      .is_sum = has_outputs,
                      .blocks = dim / kBlock,
                      .steps = blocks_of(keys),
                      .vectors = vectors};
    for (int block = 0; block < products.blocks; ++block) {
      products.low[block] = static_cast<const char*>(scratch_.v) + block * kBlock * kTileBytes;
      products.high[block] = products.low[block] + kTileRows * kTileBytes;
    }
    has_outputs = true;
    products.run(next_);
  }

  const AttentionTask& task_;
  TileScratch& scratch_;
  // The key tile that was loaded last.
  KeyTiles keys_;
  int loaded_ = 0;
  NextTile next_;
  bool is_first_ = true;
  bool has_outputs_[kTaskLanes / kLaneTile] = {};
};

}  // namespace

void attention_amx(const AttentionTask& task, void* memory) {
  TileScratch scratch(memory, task.head_dim);
  const WholeTiles configured;
  Lanes lanes(task, scratch);
  visit_tiles(
      task, scratch, [&](int first, int keys) { lanes.load(first, keys); },
      [&](const LaneTile& tile, int, int first, int keys) { lanes.compute(tile, first, keys); });
  lanes.store();
}

}  // namespace reprise::kernels::cpu

#pragma GCC pop_options
