// Disentangled attention of one head and text, as small f32 matrix products. Keys are transposed
// once, so that a row of scores is a weighted sum of rows. A token's products with the vectors of
// all buckets are also weighted sums of rows; the product of each distance is then selected.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/disentangled/cpu/disentangled.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "core/device/cpu/tag-inl.h"
#include "core/kernels/disentangled/cpu/disentangled.h"
#include "core/kernels/shared/cpu/exp2-inl.h"

#ifndef REPRISE_DISENTANGLED_ONCE
#define REPRISE_DISENTANGLED_ONCE
namespace reprise::kernels::cpu {

// Number of query rows that are multiplied together, so that they share the loads of the other
// factor.
inline constexpr int64_t kTileRows = 4;
// Columns are padded to whole vectors of the widest instruction set.
inline constexpr int64_t kPad = 16;
inline int64_t padded(int64_t count) { return (count + kPad - 1) / kPad * kPad; }

// The arrays in one head's scratch.
struct DisentangledScratch {
  DisentangledScratch(float* at, int64_t tokens, int64_t head_dim, int64_t buckets)
      : keys_cols(padded(tokens)), value_cols(padded(head_dim)), bucket_cols(padded(buckets)) {
    const auto take = [&](int64_t count) {
      float* part = at != nullptr ? at + size : nullptr;  // null: the caller wants only the size
      size += count;
      return part;
    };
    keys = take(head_dim * keys_cols);
    values = take(tokens * value_cols);
    from_queries = take(tokens * bucket_cols);
    scores = take(kTileRows * keys_cols);
    from_keys = take(kTileRows * bucket_cols);
    sums = take(kTileRows * value_cols);
  }
  int64_t keys_cols, value_cols, bucket_cols;
  int64_t size = 0;
  float* keys;          // [head_dim, keys_cols]  transposed
  float* values;        // [tokens, value_cols]
  float* from_queries;  // [tokens, bucket_cols]  <pq_x, k_j>
  float* scores;        // [kTileRows, keys_cols]
  float* from_keys;     // [kTileRows, bucket_cols]  <q_i, pk_x>
  float* sums;          // [kTileRows, value_cols]
};

}  // namespace reprise::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = reprise::cpu::HWY_NAMESPACE::WholeTag<float>;
using Vec = hn::Vec<Tag>;
constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(Tag()));
static_assert(kPad % kN == 0);

// A product c = a b of some rows of a: c[r, j] = sum over t of a[r, t] * b[t, j].
struct Product {
  const float* a;
  int64_t a_stride;
  int64_t inner;
  const float* b;
  int64_t b_stride;
  int64_t cols;  // a multiple of kPad
  float* c;
  int64_t c_stride;
};

template <int kRows, int kVectors>
HWY_INLINE void multiply_columns(const Product& p, int64_t first) {
  const Tag d;
  Vec sum[kRows][kVectors];
  for (auto& row : sum)
    for (Vec& part : row) part = hn::Zero(d);
  const float* b = p.b + first;
  for (int64_t t = 0; t < p.inner; ++t, b += p.b_stride) {
    Vec right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = hn::LoadU(d, b + v * kN);
    for (int r = 0; r < kRows; ++r) {
      const Vec left = hn::Set(d, p.a[r * p.a_stride + t]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(left, right[v], sum[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v)
      hn::StoreU(sum[r][v], d, p.c + r * p.c_stride + first + v * kN);
}

template <int kRows>
void multiply_rows(const Product& p) {
  int64_t j = 0;
  for (; j + 2 * kN <= p.cols; j += 2 * kN) multiply_columns<kRows, 2>(p, j);
  for (; j < p.cols; j += kN) multiply_columns<kRows, 1>(p, j);
}

void multiply(const Product& p, int64_t rows) {
  switch (rows) {
    case 1:
      return multiply_rows<1>(p);
    case 2:
      return multiply_rows<2>(p);
    case 3:
      return multiply_rows<3>(p);
    default:
      return multiply_rows<kTileRows>(p);
  }
}

// The range of buckets that the distances in the head's text have: [lowest, lowest + count).
struct Window {
  explicit Window(const DisentangledHead& head)
      : lowest(head.buckets[1 - head.tokens]), count(head.buckets[head.tokens - 1] - lowest + 1) {}
  int64_t lowest, count;
};

void turn_keys(const DisentangledHead& head, const DisentangledScratch& at) {
  for (int64_t c = 0; c < head.head_dim; ++c) {
    float* row = at.keys + c * at.keys_cols;
    for (int64_t j = 0; j < head.tokens; ++j) row[j] = head.k[j * head.row_stride + c];
    std::fill(row + head.tokens, row + at.keys_cols, 0.0f);
  }
}

void pad_values(const DisentangledHead& head, const DisentangledScratch& at) {
  for (int64_t j = 0; j < head.tokens; ++j) {
    float* row = at.values + j * at.value_cols;
    std::copy_n(head.v + j * head.row_stride, head.head_dim, row);
    std::fill(row + head.head_dim, row + at.value_cols, 0.0f);
  }
}

// Computes the products of rows [first, first + rows) of `a` with the vectors of all buckets of the
// window.
void multiply_buckets(const DisentangledHead& head, const float* a, const float* vectors,
                      int64_t stride, const Window& window, int64_t first, int64_t rows, float* c,
                      int64_t c_stride) {
  multiply({.a = a + first * head.row_stride,
            .a_stride = head.row_stride,
            .inner = head.head_dim,
            .b = vectors + window.lowest,
            .b_stride = stride,
            .cols = padded(window.count),
            .c = c,
            .c_stride = c_stride},
           rows);
}

// Adds to scores[r, j] the unscaled position terms of row r of the tile and key j. The outer loop
// is over keys and the inner loop over rows, because neighbouring rows read neighbouring products
// of a key.
void add_positions(const DisentangledHead& head, const DisentangledScratch& at,
                   const Window& window, int64_t first, int64_t rows) {
  const bool has_keys = head.position_keys != nullptr,
             has_queries = head.position_queries != nullptr;
  for (int64_t j = 0; j < head.tokens; ++j) {
    const float* from_query = at.from_queries + j * at.bucket_cols;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t x = head.buckets[first + r - j] - window.lowest;
      float& score = at.scores[r * at.keys_cols + j];
      if (has_keys) score += at.from_keys[r * at.bucket_cols + x];
      if (has_queries) score += from_query[x];
    }
  }
}

// Turns `scores` [cols] into unnormalized softmax weights and returns their sum. Entries from
// `tokens` on become 0.
HWY_INLINE float soften(float* scores, int64_t tokens, int64_t cols, float scale) {
  const Tag d;
  std::fill(scores + tokens, scores + cols, -std::numeric_limits<float>::infinity());
  Vec most = hn::Set(d, -std::numeric_limits<float>::infinity());
  const Vec factor = hn::Set(d, scale * 1.44269504f);
  for (int64_t j = 0; j < cols; j += kN) {
    const Vec s = hn::Mul(factor, hn::LoadU(d, scores + j));
    hn::StoreU(s, d, scores + j);
    most = hn::Max(most, s);
  }
  const Vec m = hn::MaxOfLanes(d, most);
  Vec sum = hn::Zero(d);
  for (int64_t j = 0; j < cols; j += kN) {
    const Vec w = exp2_nonpositive(d, hn::Sub(hn::LoadU(d, scores + j), m));
    hn::StoreU(w, d, scores + j);
    sum = hn::Add(sum, w);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void write_row(const DisentangledHead& head, float* sums, float n, int64_t row) {
  for (int64_t c = 0; c < head.head_dim; ++c) sums[c] /= n;
  convert(sums, DType::kF32,
          static_cast<char*>(head.out) +
              static_cast<size_t>(row * head.out_stride) * size_of(head.out_dtype),
          head.out_dtype, static_cast<size_t>(head.head_dim));
}

void attend_tile(const DisentangledHead& head, const DisentangledScratch& at, const Window& window,
                 int64_t first, int64_t rows) {
  multiply({.a = head.q + first * head.row_stride,
            .a_stride = head.row_stride,
            .inner = head.head_dim,
            .b = at.keys,
            .b_stride = at.keys_cols,
            .cols = at.keys_cols,
            .c = at.scores,
            .c_stride = at.keys_cols},
           rows);
  add_positions(head, at, window, first, rows);
  float n[kTileRows];
  for (int64_t r = 0; r < rows; ++r)
    n[r] = soften(at.scores + r * at.keys_cols, head.tokens, at.keys_cols, head.scale);
  multiply({.a = at.scores,
            .a_stride = at.keys_cols,
            .inner = head.tokens,
            .b = at.values,
            .b_stride = at.value_cols,
            .cols = at.value_cols,
            .c = at.sums,
            .c_stride = at.value_cols},
           rows);
  for (int64_t r = 0; r < rows; ++r) write_row(head, at.sums + r * at.value_cols, n[r], first + r);
}

void write_biases(const DisentangledHead& head, const DisentangledScratch& at, const Window& window,
                  int64_t first, int64_t rows) {
  std::fill_n(at.scores, kTileRows * at.keys_cols, 0.0f);
  add_positions(head, at, window, first, rows);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < head.tokens; ++j)
      head.biases[(first + r) * head.bias_stride + j] =
          head.scale * at.scores[r * at.keys_cols + j];
}

void RunHead(const DisentangledHead& head, float* scratch) {
  const Window window(head);
  const DisentangledScratch at(scratch, head.tokens, head.head_dim, window.count);
  if (head.biases == nullptr) {
    turn_keys(head, at);
    pad_values(head, at);
  }
  if (head.position_queries != nullptr)
    for (int64_t j = 0; j < head.tokens; j += kTileRows)
      multiply_buckets(head, head.k, head.position_queries, head.queries_stride, window, j,
                       std::min(kTileRows, head.tokens - j), at.from_queries + j * at.bucket_cols,
                       at.bucket_cols);
  for (int64_t i = 0; i < head.tokens; i += kTileRows) {
    const int64_t rows = std::min(kTileRows, head.tokens - i);
    if (head.position_keys != nullptr)
      multiply_buckets(head, head.q, head.position_keys, head.keys_stride, window, i, rows,
                       at.from_keys, at.bucket_cols);
    if (head.biases == nullptr) {
      attend_tile(head, at, window, i, rows);
    } else {
      write_biases(head, at, window, i, rows);
    }
  }
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/device/cpu/hwy_dispatch.h"

namespace reprise::kernels::cpu {

HWY_EXPORT(RunHead);

size_t disentangled_scratch(int64_t tokens, int64_t head_dim, int64_t buckets) {
  return static_cast<size_t>(DisentangledScratch(nullptr, tokens, head_dim, buckets).size);
}

void disentangled_head(const DisentangledHead& head, float* scratch, Isa isa) {
  REPRISE_DISPATCH(RunHead, isa)(head, scratch);
}

}  // namespace reprise::kernels::cpu
#endif
