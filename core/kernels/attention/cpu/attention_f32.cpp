// Attention of many lanes in f32 arithmetic over keys and values of any dtype, for every
// instruction set. Each element of a key is broadcast and multiplied with the queries, which are
// packed [dimension][lane]. Rows that are not f32, and those whose width is not a whole number of
// vectors, are first copied to padded f32 scratch; all lanes use the copy of a tile.
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

// Lanes whose scores one block computes, and whose queries lie together.
constexpr int kPanel = kMostVectors * kN;
// Elements from one key's scores to the next key's. Not kLaneTile, because rows at a distance of
// 256 bytes compete for a quarter of the L1 cache's sets.
constexpr int kScoreStride = kLaneTile + 16;

// Dimensions of a packed query: those of a head and zeros.
int packed_dim(const AttentionTask& task) {
  return (task.head_dim + kUnroll - 1) / kUnroll * kUnroll;
}

// Packs queries, scaled to log2 units: [panel][packed_dim][lane].
void pack_panels(const AttentionTask& task, const TileScratch& scratch) {
  const int width = (task.lanes + 15) / 16 * 16, dim = packed_dim(task);
  for (int lane = 0; lane < width; ++lane) {
    const float* row = lane < task.lanes ? query_of(task, lane) : nullptr;
    const int filled = row != nullptr ? task.head_dim : 0;
    float* panel = static_cast<float*>(scratch.q) + lane / kPanel * kPanel * dim + lane % kPanel;
    for (int c = 0; c < filled; ++c) panel[c * kPanel] = row[c] * task.scale_log2;
    for (int c = filled; c < dim; ++c) panel[c * kPanel] = 0.0f;
  }
}

// ---- scores ----

// Adds the products of one dimension.
template <int kKeys, int kVectors>
HWY_INLINE void add_dimension(const float* HWY_RESTRICT q, const float* const (&k)[kKeys], int c,
                              Vec (&sum)[kKeys][kVectors]) {
  const Tag d;
  Vec lanes[kVectors];
  for (int v = 0; v < kVectors; ++v) lanes[v] = hn::Load(d, q + c * kPanel + kN * v);
  for (int j = 0; j < kKeys; ++j) {
    const Vec key = hn::Set(d, k[j][c]);
    for (int v = 0; v < kVectors; ++v) sum[j][v] = hn::MulAdd(key, lanes[v], sum[j][v]);
  }
}

template <int kKeys, int kVectors>
HWY_INLINE void score_block(const float* HWY_RESTRICT q, int dim, const float* const (&k)[kKeys],
                            float* HWY_RESTRICT scores) {
  const Tag d;
  Vec sum[kKeys][kVectors];
  for (int j = 0; j < kKeys; ++j)
    for (int v = 0; v < kVectors; ++v) sum[j][v] = hn::Zero(d);
  int c = 0;
  do {
    add_dimension(q, k, c, sum);
    add_dimension(q, k, c + 1, sum);
    add_dimension(q, k, c + 2, sum);
    add_dimension(q, k, c + 3, sum);
    static_assert(kUnroll == 4);
    c += kUnroll;
  } while (c < dim);
  for (int j = 0; j < kKeys; ++j)
    for (int v = 0; v < kVectors; ++v) hn::Store(sum[j][v], d, scores + j * kScoreStride + kN * v);
}

// Scores of all keys for lanes [begin, end), whose number is a multiple of kN * kVectors.
template <int kVectors>
void score_lanes(const TileScratch& scratch, const float* q, int dim, int keys, int begin, int end,
                 RowsAhead& ahead) {
  const auto score = [&](auto height, int first) {
    constexpr int kKeys = decltype(height)::value;
    ahead.take(kKeys);
    const float* k[kKeys];
#pragma GCC unroll 1  // else GCC 12 computes the addresses in vectors, which takes longer
    for (int j = 0; j < kKeys; ++j) k[j] = row_at(scratch.keys, first + j);
    float* scores = scratch.scores + first * kScoreStride;
    for (int lane = begin; lane < end; lane += kN * kVectors)
      score_block<kKeys, kVectors>(q + lane * dim, dim, k, scores + lane);
  };
  constexpr int kMost = kAccumulators / kVectors;
  if constexpr (kMost == 6) return cut_in_sixes(keys, score);
  for (int j = 0; j < keys; j += kMost) score(std::integral_constant<int, kMost>{}, j);
}

void score_tile(const TileScratch& scratch, const float* q, int dim, int width, int keys,
                RowsAhead& ahead) {
  const int whole = width / kPanel * kPanel;
  if (whole > 0) score_lanes<kMostVectors>(scratch, q, dim, keys, 0, whole, ahead);
  if (whole == width) return;
  with_constant<1, 2, 3>((width - whole) / kN, [&](auto vectors) {
    score_lanes<decltype(vectors)::value>(scratch, q, dim, keys, whole, width, ahead);
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
      float* at = scratch.scores + j * kScoreStride + lane;
      const auto key = hn::Set(di, first + j);
      Vec s = hn::Load(d, at);
      if (task.has_alibi)
        s = hn::MulAdd(factor, hn::Sub(hn::Set(d, scratch.alibi_k[j]), alibi_q), s);
      const auto visible = hn::And(hn::Not(hn::Lt(key, low)), hn::Lt(key, high));
      hn::Store(hn::IfThenElse(hn::RebindMask(d, visible), s, hn::Set(d, kMinusInfinity)), d, at);
    }
  }
}

// The softmax of kVectors vectors of lanes. Several are computed at once because that takes less
// time than one after the other.
template <int kVectors>
void softmax_lanes(const TileScratch& scratch, int first_lane, int lane, int keys) {
  const Tag d;
  float* column = scratch.scores + lane;
  float* m = scratch.m + first_lane + lane;
  float* n = scratch.n + first_lane + lane;
  Vec m_new[kVectors], sum[kVectors];
  for (int v = 0; v < kVectors; ++v) m_new[v] = hn::Load(d, m + kN * v);
  for (int j = 0; j < keys; ++j)
    for (int v = 0; v < kVectors; ++v)
      m_new[v] = hn::Max(m_new[v], hn::Load(d, column + j * kScoreStride + kN * v));
  for (int v = 0; v < kVectors; ++v) {
    const Vec m_old = hn::Load(d, m + kN * v);
    hn::Store(m_new[v], d, m + kN * v);
    m_new[v] = hn::IfThenElseZero(hn::Gt(m_new[v], hn::Set(d, kMinusInfinity)), m_new[v]);
    const Vec corr = exp2_nonpositive(d, hn::Sub(m_old, m_new[v]));
    hn::Store(corr, d, scratch.corr + lane + kN * v);
    sum[v] = hn::Mul(hn::Load(d, n + kN * v), corr);
  }
  for (int j = 0; j < keys; ++j)
    for (int v = 0; v < kVectors; ++v) {
      float* at = column + j * kScoreStride + kN * v;
      const Vec p = exp2_nonpositive(d, hn::Sub(hn::Load(d, at), m_new[v]));
      sum[v] = hn::Add(sum[v], p);
      hn::Store(p, d, at);
    }
  for (int v = 0; v < kVectors; ++v) hn::Store(sum[v], d, n + kN * v);
}

void softmax_tile(const TileScratch& scratch, int first_lane, int width, int keys) {
  int lane = 0;
  for (; lane + 2 * kN <= width; lane += 2 * kN) softmax_lanes<2>(scratch, first_lane, lane, keys);
  if (lane < width) softmax_lanes<1>(scratch, first_lane, lane, keys);
}

// Runs a task. The first lane tile that sees a key tile also prefetches: values while it computes
// scores, the next tile's keys while it computes outputs. Converted rows are not prefetched,
// because converting has read them already.
void AttentionMany(const AttentionTask& task, void* memory) {
  TileScratch scratch(memory, task.head_dim);
  scratch.fetch = task.fetch;
  pack_panels(task, scratch);
  const int dim = packed_dim(task);
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
        const float* q = static_cast<const float*>(scratch.q) + index * kLaneTile * dim;
        RowsAhead values(scratch.values, 0, is_first ? loaded : 0);
        score_tile(scratch, q, dim, width, keys, values);
        if (task.has_alibi || !tile.range.covers(first, keys))
          mask_tile(task, scratch, tile.first, width, first, keys);
        softmax_tile(scratch, tile.first, width, keys);
        const int rows_ahead = is_first && loaded == kKeyTile ? kKeyTile : 0;
        RowsAhead next_keys(scratch.keys, loaded, loaded + rows_ahead);
        value_tile<false, kScoreStride>(scratch, {.lanes = tile.lanes,
                                                  .keys = keys,
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
