// Merges the partial results of one row, for every instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/attention/cpu/attention_merge.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "core/device/cpu/tag-inl.h"
#include "core/kernels/attention/cpu/attention_tile.h"
#include "core/kernels/shared/cpu/exp2-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = reprise::cpu::HWY_NAMESPACE::WholeTag<float>;
using Vec = hn::Vec<Tag>;
constexpr int kN = static_cast<int>(hn::MaxLanes(Tag()));

// Loads `count` < kN numbers, followed by zeros. (Highway 0.16 has masked loads from aligned
// addresses only.)
Vec load_first(const float* from, int count) {
  alignas(64) float lanes[16] = {};
  std::copy_n(from, count, lanes);
  return hn::Load(Tag(), lanes);
}

// Computes the weights of the partial results of heads [head, head + kN) as
// row.weights[part][head], and the inverse of their common normalizer as inverse[head]. The inverse
// is 0 if no part of the head saw a key.
void weigh(const MergeRow& row, int head, float* inverse) {
  constexpr float kLog2E = 1.44269504088896f;
  const Tag d;
  const int count = std::min(kN, row.heads - head);
  alignas(64) float lane[16];
  const auto load = [&](const float* from) {  // the heads left may be fewer than kN
    for (int i = 0; i < kN; ++i) lane[i] = from[std::min(i, count - 1)];
    return hn::Load(d, lane);
  };
  Vec m = hn::Set(d, kMinusInfinity);
  for (const int64_t entry : row.entries) m = hn::Max(m, load(row.m + entry + head));
  const Vec safe = hn::IfThenElseZero(hn::Gt(m, hn::Set(d, kMinusInfinity)), m);
  Vec n = hn::Zero(d);
  float* weights = row.weights;
  for (const int64_t entry : row.entries) {
    const Vec difference = hn::Sub(load(row.m + entry + head), safe);
    const Vec weight = exp2_nonpositive(d, hn::Mul(difference, hn::Set(d, kLog2E)));
    n = hn::MulAdd(weight, load(row.n + entry + head), n);
    hn::Store(weight, d, weights);
    weights += kN;
  }
  // NaN is not equal to 0, so it stays NaN.
  hn::Store(hn::IfThenZeroElse(hn::Eq(n, hn::Zero(d)), hn::Div(hn::Set(d, 1.0f), n)), d, inverse);
}

void MergeOneRow(const MergeRow& row) {
  const Tag d;
  alignas(64) float inverse[kN], sum[kMaxHeadDim + 16];
  for (int head = 0; head < row.heads; ++head) {
    if (head % kN == 0) weigh(row, head, inverse);
    const int lane = head % kN;
    for (int c = 0; c < row.head_dim; c += kN) {
      const int left = std::min(kN, row.head_dim - c);
      Vec total = hn::Zero(d);
      for (size_t part = 0; part < row.entries.size(); ++part) {
        const float* o = row.o + (row.entries[part] + head) * row.head_dim + c;
        const float weight =
            row.weights[part * static_cast<size_t>(kN) + static_cast<size_t>(lane)];
        if (weight == 0.0f) continue;  // also skips values that a part without keys never wrote
        const Vec values = left == kN ? hn::LoadU(d, o) : load_first(o, left);
        total = hn::MulAdd(hn::Set(d, weight), values, total);
      }
      hn::Store(hn::Mul(total, hn::Set(d, inverse[lane])), d, sum + c);
    }
    const int64_t first = static_cast<int64_t>(head) * row.head_dim;
    if (row.out_dtype == DType::kF32) {
      std::copy_n(sum, row.head_dim, static_cast<float*>(row.out) + first);
    } else {
      bf16* out = static_cast<bf16*>(row.out) + first;
      for (int c = 0; c < row.head_dim; ++c) out[c] = bf16(sum[c]);
    }
  }
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/device/cpu/hwy_dispatch.h"

namespace reprise::kernels::cpu {

HWY_EXPORT(MergeOneRow);

void merge_row(const MergeRow& row, Isa isa) { REPRISE_DISPATCH(MergeOneRow, isa)(row); }

}  // namespace reprise::kernels::cpu
#endif
