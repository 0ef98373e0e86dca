// Code that the two attention kernels in f32 arithmetic share: widening rows to f32, multiplying
// weights with values, and storing the results.
#if defined(REPRISE_ATTENTION_F32_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef REPRISE_ATTENTION_F32_INL_H_
#undef REPRISE_ATTENTION_F32_INL_H_
#else
#define REPRISE_ATTENTION_F32_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "core/base/constant.h"
#include "core/device/cpu/tag-inl.h"
#include "core/kernels/attention/cpu/attention_tile.h"
#include "core/kernels/attention/cpu/attention_units.h"
#include "core/kernels/shared/cpu/bf16_words-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = reprise::cpu::HWY_NAMESPACE::WholeTag<float>;
using Vec = hn::Vec<Tag>;
constexpr int kN = static_cast<int>(hn::MaxLanes(Tag()));
// Vector registers that hold the sums of a block: 24 of the 32 registers of AVX-512, else 12 of 16.
constexpr int kAccumulators = HWY_TARGET == HWY_AVX3 ? 24 : 12;
constexpr int kMostVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;
// Loops over dimensions or keys compute this many at a time. Fewer instructions are then spent on
// counting, which matters if two threads share a core: each can then issue only half as many
// instructions as the core.
constexpr int kUnroll = 4;

// True if the kernel for few lanes reads rows of bf16 in place, without widening them first. A row
// must then consist of whole vectors of words (pairs of bf16).
inline bool splits_words(const AttentionTask& task) {
  return task.kv_dtype == DType::kBF16 && task.has_few_lanes() && task.head_dim % (2 * kN) == 0;
}
// Index of dimension c in a row whose words are split: first come all even dimensions, then all odd
// dimensions.
constexpr int split_place(int c, int head_dim) { return c / 2 + c % 2 * (head_dim / 2); }

// Copies rows into padded f32 scratch.
template <typename T>
inline void convert_rows(const RowGroups& rows, int count, int dim, int padded_dim, int stride,
                         float* out) {
  for (int j = 0; j < count; ++j) {
    const T* in = reinterpret_cast<const T*>(rows.row(j));
    float* row = out + j * stride;
    for (int c = 0; c < dim; ++c) row[c] = static_cast<float>(in[c]);
    for (int c = dim; c < padded_dim; ++c) row[c] = 0.0f;
  }
}

inline void convert_bf16_rows(const RowGroups& rows, int count, int dim, int padded_dim, int stride,
                              float* out) {
  const hn::Rebind<uint16_t, Tag> d16;
  const hn::Rebind<uint32_t, Tag> d32;
  const Tag d;
  for (int j = 0; j < count; ++j) {
    const auto* in = reinterpret_cast<const uint16_t*>(rows.row(j));
    float* row = out + j * stride;
    int c = 0;
    for (; c + kN <= dim; c += kN)
      hn::Store(hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, in + c)))), d,
                row + c);
    for (; c < padded_dim; ++c)
      row[c] = c < dim ? static_cast<float>(reinterpret_cast<const bf16*>(in)[c]) : 0.0f;
  }
}

inline bool needs_widening(const AttentionTask& task) {
  return !splits_words(task) &&
         (task.kv_dtype != DType::kF32 || task.head_dim % std::max(kN, kUnroll) != 0);
}

// Copies the tile's rows to padded f32 rows in whole groups, unless the kernel reads them in place.
inline void widen_rows(const AttentionTask& task, TileScratch& scratch, int keys) {
  if (!needs_widening(task)) return;
  const int count = (keys + kRowGroup - 1) / kRowGroup * kRowGroup;
  // Not padded_dim, because rows at a distance of 256 bytes compete for a quarter of the L1 cache's
  // sets.
  const int stride = scratch.padded_dim + kRowPadding;
  const auto convert = [&](RowGroups& rows, void* out) {
    auto* f32 = static_cast<float*>(out);
    switch (task.kv_dtype) {
      case DType::kF32:
        convert_rows<float>(rows, count, task.head_dim, scratch.padded_dim, stride, f32);
        break;
      case DType::kBF16:
        convert_bf16_rows(rows, count, task.head_dim, scratch.padded_dim, stride, f32);
        break;
      case DType::kF16:
        convert_rows<f16>(rows, count, task.head_dim, scratch.padded_dim, stride, f32);
        break;
    }
    rows.row_bytes = static_cast<size_t>(stride) * sizeof(float);
    const int last = count / kRowGroup - 1;
    for (int group = 0; group <= last + kGroupSlack; ++group)
      rows.groups[group] = static_cast<const char*>(out) +
                           static_cast<size_t>(std::min(group, last) * kRowGroup) * rows.row_bytes;
  };
  convert(scratch.keys, scratch.k);
  convert(scratch.values, scratch.v);
}

inline const float* row_at(const RowGroups& rows, int j) {
  return reinterpret_cast<const float*>(rows.row(j));
}

// One vector of an f32 row; or, with kSplit, two vectors: the even and the odd dimensions of a
// vector of bf16 words.
template <bool kSplit>
struct RowVector {
  HWY_INLINE explicit RowVector(const float* at) : even(hn::LoadU(Tag(), at)), odd(even) {
    if constexpr (kSplit) {
      even = even_of(Tag(), odd);
      odd = odd_of(Tag(), odd);
    }
  }
  Vec even, odd;
};

// ---- values ----

// Adds the products of one row of values with its weights.
template <int kLanes, int kVectors, bool kSplit>
HWY_INLINE void add_row(const float* weights, const char* row,
                        Vec (&sum)[kLanes][kVectors][kSplit ? 2 : 1]) {
  const Tag d;
  Vec values[kVectors][kSplit ? 2 : 1];
  for (int c = 0; c < kVectors; ++c) {
    const RowVector<kSplit> vector(reinterpret_cast<const float*>(row) + kN * c);
    values[c][0] = vector.even;
    if constexpr (kSplit) values[c][1] = vector.odd;
  }
  for (int r = 0; r < kLanes; ++r) {
    const Vec weight = hn::Set(d, weights[r]);
    for (int c = 0; c < kVectors; ++c)
      for (int half = 0; half < (kSplit ? 2 : 1); ++half)
        sum[r][c][half] = hn::MulAdd(weight, values[c][half], sum[r][c][half]);
  }
}

// Arguments of value_block() that are equal for all blocks of a tile's output.
struct ValueTile {
  int lanes = 0, keys = 0;
  int key_stride = 0;          // elements of p from one key to the next
  int vectors = 0;             // number of vectors in a row of values
  float* o = nullptr;          // sums of the first lane
  RowsAhead* ahead = nullptr;  // rows to prefetch meanwhile
  int rows_ahead = 0;
};

// A block of sums, of the lanes from `lane` on and the dimensions from `column` on, to which the
// products of keys [first, end) are added. There is at least one key.
struct ValueBlock {
  int lane, column, first, end;
};
// o[kLanes][kN * kVectors] = o * corr + p v with p[key][key_stride]. With kSplit these o are the
// sums of the even dimensions; the sums of the odd dimensions follow after the tile's vectors. With
// kWholeGroups the keys are whole groups. kStride is the tile's key_stride, or 0 if that is known
// only at run time.
template <int kLanes, int kVectors, bool kSplit, int kStride, bool kWholeGroups>
HWY_INLINE void value_block(const TileScratch& scratch, const ValueTile& tile,
                            const ValueBlock& block, const float* corr) {
  constexpr int kHalves = kSplit ? 2 : 1;
  const Tag d;
  const int lane_stride = scratch.padded_dim, half_stride = kN * tile.vectors;
  float* HWY_RESTRICT o = tile.o + block.lane * lane_stride + block.column;
  const auto at = [&](int r, int c, int half) {
    return o + r * lane_stride + kN * c + half * half_stride;
  };
  Vec sum[kLanes][kVectors][kHalves];
  for (int r = 0; r < kLanes; ++r)
    for (int c = 0; c < kVectors; ++c)
      for (int half = 0; half < kHalves; ++half)
        sum[r][c][half] = hn::Mul(hn::LoadU(d, at(r, c, half)), hn::Set(d, corr[r]));
  const int stride = kStride > 0 ? kStride : tile.key_stride;
  const float* HWY_RESTRICT p = scratch.scores + block.lane + block.first * stride;
  const RowGroups& values = scratch.values;
  const size_t bytes = values.row_bytes;
  const size_t offset = static_cast<size_t>(block.column) * sizeof(float);
  if constexpr (kWholeGroups) {
    static_assert(kRowGroup == 2 * kUnroll && kUnroll == 4);
    const char* const* group = values.groups + block.first / kRowGroup;
    int left = (block.end - block.first) / kRowGroup;
    do {
      const char* row = *group++ + values.unit_offset + offset;
#pragma GCC unroll 1  // longer loops were slower
      for (int half = 0; half < 2; ++half) {
        add_row<kLanes, kVectors, kSplit>(p, row, sum);
        add_row<kLanes, kVectors, kSplit>(p + stride, row + bytes, sum);
        add_row<kLanes, kVectors, kSplit>(p + 2 * stride, row + 2 * bytes, sum);
        add_row<kLanes, kVectors, kSplit>(p + 3 * stride, row + 3 * bytes, sum);
        p += kUnroll * stride;
        row += kUnroll * bytes;
      }
    } while (--left > 0);
  } else {
    int j = block.first;
    do {
      add_row<kLanes, kVectors, kSplit>(p, values.row(j) + offset, sum);
      p += stride;
    } while (++j < block.end);
  }
  for (int r = 0; r < kLanes; ++r)
    for (int c = 0; c < kVectors; ++c)
      for (int half = 0; half < kHalves; ++half) hn::StoreU(sum[r][c][half], d, at(r, c, half));
}

template <int kVectors, bool kSplit, int kStride>
void value_columns(const TileScratch& scratch, const ValueTile& tile, int column,
                   int rows_per_block) {
  const int whole = tile.keys / kRowGroup * kRowGroup;
  cut_in_sixes(tile.lanes, [&](auto height, int lane) {
    constexpr int kLanes = decltype(height)::value;
    tile.ahead->take(rows_per_block);
    const float* corr = scratch.corr + lane;
    if (whole > 0) {
      value_block<kLanes, kVectors, kSplit, kStride, true>(
          scratch, tile, {.lane = lane, .column = column, .first = 0, .end = whole}, corr);
      corr = kOnes;
    }
    if (whole < tile.keys)
      value_block<kLanes, kVectors, kSplit, kStride, false>(
          scratch, tile, {.lane = lane, .column = column, .first = whole, .end = tile.keys}, corr);
  });
}

// Updates all columns of o for the tile's lanes, and prefetches the rows of `tile.ahead` meanwhile.
template <bool kSplit, int kStride = 0>
void value_tile(const TileScratch& scratch, const ValueTile& tile) {
  constexpr int kMost = kSplit ? kMostVectors / 2 : kMostVectors;
  const int blocks = (tile.vectors / kMost + tile.vectors % kMost) * blocks_of_six(tile.lanes);
  const int share = (tile.rows_ahead + blocks - 1) / blocks;
  int c = 0;
  for (; c + kMost <= tile.vectors; c += kMost)
    value_columns<kMost, kSplit, kStride>(scratch, tile, kN * c, share);
  for (; c < tile.vectors; ++c) value_columns<1, kSplit, kStride>(scratch, tile, kN * c, share);
}

// ---- results ----

// Undoes split_place() in a lane's sums.
inline void join_words(const AttentionTask& task, float* o) {
  alignas(64) float joined[kMaxHeadDim];
  for (int c = 0; c < task.head_dim; ++c) joined[c] = o[split_place(c, task.head_dim)];
  std::copy_n(joined, task.head_dim, o);
}

inline void store_results(const AttentionTask& task, const TileScratch& scratch) {
  const bool is_split = splits_words(task);
  for (int lane = 0; lane < task.lanes; ++lane) {
    if (is_split) join_words(task, scratch.o + lane * scratch.padded_dim);
    if (task.partial_o != nullptr) {
      store_partial(task, scratch, lane);
      continue;
    }
    const float* o = scratch.o + lane * scratch.padded_dim;
    const float inverse = inverse_of(scratch.n[lane]);
    const int64_t first = output_element(task, lane);
    if (task.out_dtype == DType::kF32) {
      float* out = static_cast<float*>(task.out) + first;
      for (int c = 0; c < task.head_dim; ++c) out[c] = o[c] * inverse;
    } else {
      bf16* out = static_cast<bf16*>(task.out) + first;
      for (int c = 0; c < task.head_dim; ++c) out[c] = bf16(o[c] * inverse);
    }
  }
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
