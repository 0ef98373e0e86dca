// Attention of many lanes in f32 arithmetic over keys and values of any dtype, for every
// instruction set. Each key element is broadcast against the queries packed [dimension][lane]. Rows
// that are not f32, and those whose width is not a whole number of vectors, are first copied to
// padded f32 scratch; all lanes use the copy of a tile.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/attention/cpu/attention_f32.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "core/kernels/attention/cpu/attention_f32-inl.h"
#include "core/kernels/shared/cpu/exp2-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Packs queries, scaled to log2 units: [tile][dimension][lane].
void pack_tiles(const AttentionTask& task, const TileScratch& scratch) {
  const int width = (task.lanes + 15) / 16 * 16;
  for (int lane = 0; lane < width; ++lane) {
    const float* row = lane < task.lanes ? query_of(task, lane) : nullptr;
    float* tile = static_cast<float*>(scratch.q) + lane / kLaneTile * kLaneTile * task.head_dim +
                  lane % kLaneTile;
    for (int c = 0; c < task.head_dim; ++c)
      tile[c * kLaneTile] = row != nullptr ? row[c] * task.scale_log2 : 0.0f;
  }
}

// ---- scores ----

template <int kVectors>
HWY_INLINE void score_block(const float* HWY_RESTRICT q, int dim, const RowGroups& keys, int first,
                            float* HWY_RESTRICT scores) {
  constexpr int kKeys = kAccumulators / kVectors;
  const float* k[kKeys];
  for (int j = 0; j < kKeys; ++j) k[j] = row_at(keys, first + j);
  const Tag d;
  Vec sum[kKeys][kVectors];
  for (int j = 0; j < kKeys; ++j)
    for (int v = 0; v < kVectors; ++v) sum[j][v] = hn::Zero(d);
  for (int c = 0; c < dim; ++c) {
    Vec lanes[kVectors];
    for (int v = 0; v < kVectors; ++v) lanes[v] = hn::Load(d, q + c * kLaneTile + kN * v);
    for (int j = 0; j < kKeys; ++j) {
      const Vec key = hn::Set(d, k[j][c]);
      for (int v = 0; v < kVectors; ++v) sum[j][v] = hn::MulAdd(key, lanes[v], sum[j][v]);
    }
  }
  for (int j = 0; j < kKeys; ++j)
    for (int v = 0; v < kVectors; ++v) hn::Store(sum[j][v], d, scores + j * kLaneTile + kN * v);
}

template <int kVectors>
void score_lanes(const TileScratch& scratch, const float* q, int dim, int keys, int lane,
                 RowsAhead& ahead) {
  for (int j = 0; j < keys; j += kAccumulators / kVectors) {
    ahead.take(kAccumulators / kVectors);
    score_block<kVectors>(q + lane, dim, scratch.keys, j, scratch.scores + j * kLaneTile + lane);
  }
}

void score_tile(const TileScratch& scratch, const float* q, int dim, int width, int keys,
                RowsAhead& ahead) {
  int lane = 0;
  for (; lane + kMostVectors * kN <= width; lane += kMostVectors * kN)
    score_lanes<kMostVectors>(scratch, q, dim, keys, lane, ahead);
  if (lane == width) return;
  with_constant<1, 2, 3>((width - lane) / kN, [&](auto vectors) {
    score_lanes<decltype(vectors)::value>(scratch, q, dim, keys, lane, ahead);
  });
}

// ---- softmax, in place ----

void mask_tile(const AttentionTask& task, const TileScratch& scratch, int first_lane, int width,
               int first, int keys) {
  const Tag d;
  const hn::RebindToSigned<Tag> di;
  const Vec factor = hn::Set(d, task.has_alibi ? task.alibi_factor(0) : 0.0f);
  for (int lane = 0; lane < width; lane += kN) {
    const auto low = hn::Load(di, scratch.low + first_lane + lane),
               high = hn::Load(di, scratch.high + first_lane + lane);
    const Vec alibi_q = hn::Load(d, scratch.alibi_q + first_lane + lane);
    for (int j = 0; j < keys; ++j) {
      float* at = scratch.scores + j * kLaneTile + lane;
      const auto key = hn::Set(di, first + j);
      Vec s = hn::Load(d, at);
      if (task.has_alibi)
        s = hn::MulAdd(factor, hn::Sub(hn::Set(d, scratch.alibi_k[j]), alibi_q), s);
      const auto visible = hn::And(hn::Not(hn::Lt(key, low)), hn::Lt(key, high));
      hn::Store(hn::IfThenElse(hn::RebindMask(d, visible), s, hn::Set(d, kMinusInfinity)), d, at);
    }
  }
}

void softmax_tile(const TileScratch& scratch, int first_lane, int width, int keys) {
  const Tag d;
  const Vec minus_infinity = hn::Set(d, kMinusInfinity);
  for (int lane = 0; lane < width; lane += kN) {
    float* column = scratch.scores + lane;
    const Vec m_old = hn::Load(d, scratch.m + first_lane + lane);
    Vec m_new = m_old;
    for (int j = 0; j < keys; ++j) m_new = hn::Max(m_new, hn::Load(d, column + j * kLaneTile));
    const Vec m_safe = hn::IfThenElseZero(hn::Gt(m_new, minus_infinity), m_new);
    const Vec corr = exp2_nonpositive(d, hn::Sub(m_old, m_safe));
    Vec n = hn::Mul(hn::Load(d, scratch.n + first_lane + lane), corr);
    for (int j = 0; j < keys; ++j) {
      const Vec p = exp2_nonpositive(d, hn::Sub(hn::Load(d, column + j * kLaneTile), m_safe));
      n = hn::Add(n, p);
      hn::Store(p, d, column + j * kLaneTile);
    }
    hn::Store(m_new, d, scratch.m + first_lane + lane);
    hn::Store(n, d, scratch.n + first_lane + lane);
    hn::Store(corr, d, scratch.corr + lane);
  }
}

// Runs a task. The first lane tile that sees a key tile also prefetches: values while it computes
// scores, the next tile's keys while it computes outputs. Converted rows are not prefetched,
// because converting has read them already.
void AttentionMany(const AttentionTask& task, void* memory) {
  TileScratch scratch(memory, task.head_dim);
  scratch.fetch = task.fetch;
  pack_tiles(task, scratch);
  const bool fetches = !needs_widening(task);
  int loaded = 0;
  bool is_first = true;
  visit_tiles(
      task, scratch,
      [&](int first, int keys) {
        gather_rows(task, scratch, first, keys, fetches ? kKeyTile : 0);
        widen_rows(task, scratch, keys);
        loaded = keys;
        is_first = fetches;
      },
      [&](const LaneTile& tile, int index, int first, int keys) {
        const int width = (tile.lanes + kN - 1) / kN * kN;
        const float* q = static_cast<const float*>(scratch.q) + index * kLaneTile * task.head_dim;
        RowsAhead values(scratch.values, 0, is_first ? loaded : 0);
        score_tile(scratch, q, task.head_dim, width, keys, values);
        if (task.has_alibi || !tile.range.covers(first, keys))
          mask_tile(task, scratch, tile.first, width, first, keys);
        softmax_tile(scratch, tile.first, width, keys);
        const int rows_ahead = is_first && loaded == kKeyTile ? kKeyTile : 0;
        RowsAhead next_keys(scratch.keys, loaded, loaded + rows_ahead);
        value_tile<false>(scratch, {.lanes = tile.lanes,
                                    .keys = keys,
                                    .key_stride = kLaneTile,
                                    .vectors = (task.head_dim + kN - 1) / kN,
                                    .o = scratch.o + tile.first * scratch.padded_dim,
                                    .ahead = &next_keys,
                                    .rows_ahead = rows_ahead});
        is_first = false;
      });
  store_results(task, scratch);
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/device/cpu/hwy_dispatch.h"

namespace reprise::kernels::cpu {

HWY_EXPORT(AttentionMany);

size_t attention_scratch_bytes(int head_dim) { return TileScratch(nullptr, head_dim).bytes; }

void attention_f32(const AttentionTask& task, void* scratch, Isa isa) {
  if (task.has_few_lanes()) return attention_few_f32(task, scratch, isa);
  REPRISE_DISPATCH(AttentionMany, isa)(task, scratch);
}

}  // namespace reprise::kernels::cpu
#endif
