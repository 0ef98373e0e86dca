// Attention of few lanes in f32 arithmetic: scores are dot products along head_dim.
//
// Rows of f32 and bf16 are read in place. For bf16, the even and the odd dimension of each word are
// computed separately, so queries and sums have first all even dimensions, then all odd dimensions.
// Rows of other dtypes, and rows that are not a whole number of vectors wide, are first copied to
// padded f32 scratch; all lanes use the copy of a tile.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/attention/cpu/attention_few_f32.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <bit>

#include "core/kernels/attention/cpu/attention_f32-inl.h"
#include "core/kernels/shared/cpu/exp2-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Packs queries, scaled to log2 units, as [lane][padded_dim]. If splits_words(), the even
// dimensions come first, then the odd ones.
void pack_rows(const AttentionTask& task, const TileScratch& scratch) {
  const bool is_split = splits_words(task);
  for (int lane = 0; lane < task.lanes; ++lane) {
    const float* row = query_of(task, lane);
    float* q = static_cast<float*>(scratch.q) + lane * scratch.padded_dim;
    for (int c = 0; c < task.head_dim; ++c)
      q[is_split ? split_place(c, task.head_dim) : c] = row[c] * task.scale_log2;
    std::fill(q + task.head_dim, q + scratch.padded_dim, 0.0f);
  }
}

// ---- scores ----

// Scores and weights of few lanes are [keys][spread_of(lanes)]: `lanes` rounded up to a power of
// two.
constexpr int spread_of(int lanes) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(lanes)));
}

// The layout of a tile's rows for few lanes: bf16 words if is_split, else f32.
struct RowShape {
  bool is_split = false;
  int vectors = 0;  // of a row
};
RowShape row_shape(const AttentionTask& task, const TileScratch& scratch) {
  if (splits_words(task)) return {.is_split = true, .vectors = task.head_dim / (2 * kN)};
  return {.vectors = (task.head_dim % kN == 0 ? task.head_dim : scratch.padded_dim) / kN};
}

// Calls use() with the Fetch value for few lanes as an integral constant: kNone if `fetches` is
// false, because converted rows have been read already.
template <typename Use>
HWY_INLINE void with_fetch(const TileScratch& scratch, bool fetches, Use&& use) {
  if (!fetches) return use(std::integral_constant<Fetch, Fetch::kNone>{});
  with_setting(scratch.fetch, use);
}

// Requests the line at vector `c` of a row (FetchAhead::line()), if a line begins there.
template <Fetch kFetch>
HWY_INLINE void fetch_line(const FetchAhead& ahead, size_t row_byte, int c) {
  constexpr int kLineVectors = std::max(1, 16 / kN);
  if (kFetch == Fetch::kNone || c % kLineVectors != 0) return;
  ahead.line<kFetch>(row_byte + static_cast<size_t>(c) * kN * sizeof(float));
}

// Number of vectors whose elements are summed together.
constexpr int kSums = 8;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// Adds the elements of `a` in pairs, and those of `b`; sums of `a` and of `b` alternate in the
// result.
template <class D, class V>
HWY_INLINE V halve(D d, V a, V b) {
  return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
}
// Returns the sum of each of eight vectors of eight elements. Takes 21 operations instead of 48.
template <class D, class V>
HWY_INLINE V sums_of_eight(D d, const V* v) {
  const V low = halve(d, halve(d, v[0], v[2]), halve(d, v[1], v[3]));
  const V high = halve(d, halve(d, v[4], v[6]), halve(d, v[5], v[7]));
  return hn::Add(hn::ConcatLowerLower(d, high, low), hn::ConcatUpperUpper(d, high, low));
}
#endif

// Writes the sum of each vector's elements.
HWY_INLINE void store_sums(const Vec* sums, float* out) {
#if HWY_TARGET == HWY_AVX3
  const hn::Half<Tag> d;
  hn::Vec<decltype(d)> halves[kSums];
  for (int i = 0; i < kSums; ++i)
    halves[i] = hn::Add(hn::LowerHalf(d, sums[i]), hn::UpperHalf(d, sums[i]));
  hn::StoreU(sums_of_eight(d, halves), d, out);
#elif HWY_TARGET == HWY_AVX2
  hn::StoreU(sums_of_eight(Tag(), sums), Tag(), out);
#else
  for (int i = 0; i < kSums; ++i) out[i] = hn::GetLane(hn::SumOfLanes(Tag(), sums[i]));
#endif
}

// Computes the scores of kLanes lanes with rows of kVectors vectors (0: number known only at run
// time). A single lane waits for memory, so it takes one row after the other. A row must take few
// instructions, because a core that waits for cache lines looks ahead no further than its
// instruction buffer. (One lane, two threads of a Xeon, rows of 128 f32, relative to the rate of
// reading without computing: this loop reaches 1.00, a loop that computes addresses and widths for
// each row 0.88; with AVX2 0.94 and 0.86.)
template <int kLanes, bool kSplit, int kVectors, Fetch kFetch>
void score_keys(const TileScratch& scratch, int vectors, int keys) {
  constexpr int kSpread = spread_of(kLanes), kKeys = kSums / kSpread;
  const int count = kVectors > 0 ? kVectors : vectors;
  const size_t row_bytes =
      kVectors > 0 ? size_t{kVectors} * kN * sizeof(float) : scratch.keys.row_bytes;
  const int odd = kSplit ? count * kN : 0;
  const auto* q = static_cast<const float*>(scratch.q);
  // A single lane reads the values as fast as the keys. Several lanes read them repeatedly, so all
  // values are requested while the scores are computed.
  Ahead distance = groups_ahead(scratch.fetch, row_bytes);
  if (kLanes > 1) distance.far = kKeyTile / kRowGroup;
  const Tag d;
  for (int j = 0; j < keys; j += kRowGroup) {
    const char* rows = scratch.keys.row(j);
    const FetchAhead ahead =
        kFetch == Fetch::kNone ? FetchAhead{} : scratch.fetch_from_keys(j / kRowGroup, distance);
    for (int r = 0; r < kRowGroup; r += kKeys) {
      Vec sum[kSums];
      for (int i = 0; i < kSums; ++i) sum[i] = hn::Zero(d);
      const auto add = [&](int key, int c) HWY_ATTR {
        const size_t row_byte = static_cast<size_t>(r + key) * row_bytes;
        fetch_line<kFetch>(ahead, row_byte, c);
        const RowVector<kSplit> k(reinterpret_cast<const float*>(rows + row_byte) + kN * c);
        for (int lane = 0; lane < kLanes; ++lane) {
          const float* query = q + lane * scratch.padded_dim + kN * c;
          Vec& to = sum[key * kSpread + lane];
          to = hn::MulAdd(k.even, hn::Load(d, query), to);
          if constexpr (kSplit) to = hn::MulAdd(k.odd, hn::LoadU(d, query + odd), to);
        }
      };
      if constexpr (kLanes == 1) {
        for (int key = 0; key < kKeys; ++key)
          for (int c = 0; c < count; ++c) add(key, c);
      } else {
        for (int c = 0; c < count; ++c)
          for (int key = 0; key < kKeys; ++key) add(key, c);
      }
      store_sums(sum, scratch.scores + (j + r) * kSpread);
    }
  }
}

template <bool kSplit>
void score_few(const TileScratch& scratch, int lanes, int vectors, int keys, bool fetches) {
  if (lanes > 1)
    return with_constant<2, 3, 4, 5, 6, 7, 8>(lanes, [&](auto count) {
      constexpr int kLanes = decltype(count)::value;
      if (!fetches) return score_keys<kLanes, kSplit, 0, Fetch::kNone>(scratch, vectors, keys);
      if (scratch.fetch.level == FetchSetting::Level::kL2)
        return score_keys<kLanes, kSplit, 0, Fetch::kToL2>(scratch, vectors, keys);
      score_keys<kLanes, kSplit, 0, Fetch::kToL1>(scratch, vectors, keys);
    });
  const bool has_gaps = scratch.keys.row_bytes != static_cast<size_t>(vectors) * kN * sizeof(float);
  const bool is_common = !has_gaps && (vectors == 4 || vectors == 8 || vectors == 16);
  with_fetch(scratch, fetches, [&](auto fetch) {
    constexpr Fetch kFetch = decltype(fetch)::value;
    with_constant<0, 4, 8, 16>(is_common ? vectors : 0, [&](auto count) {
      score_keys<1, kSplit, decltype(count)::value, kFetch>(scratch, vectors, keys);
    });
  });
}

void score_rows(const AttentionTask& task, const TileScratch& scratch, int keys, bool fetches) {
  const RowShape rows = row_shape(task, scratch);
  if (rows.is_split) {
    score_few<true>(scratch, task.unit_lanes(), rows.vectors, keys, fetches);
  } else {
    score_few<false>(scratch, task.unit_lanes(), rows.vectors, keys, fetches);
  }
}

// ---- softmax, in place ----

// Adds biases to the scores, and masks the scores of keys that a lane does not see.
void mask_rows(const AttentionTask& task, const TileScratch& scratch, int first, int keys,
               int padded) {
  const int spread = spread_of(task.unit_lanes());
  const float factor = task.has_alibi ? task.alibi_factor(scratch.unit) : 0.0f;
  for (int lane = 0; lane < task.unit_lanes(); ++lane) {
    const int low = scratch.low[lane], high = std::min(scratch.high[lane], first + keys);
    for (int j = 0; j < padded; ++j) {
      float& score = scratch.scores[j * spread + lane];
      if (first + j < low || first + j >= high) {
        score = kMinusInfinity;
      } else if (task.has_alibi) {
        score += factor * (scratch.alibi_k[j] - scratch.alibi_q[lane]);
      }
    }
  }
}

// Computes the online softmax of the tile. A vector contains the scores of several keys for all
// lanes, or of one key for some lanes. In each run of kPattern scores, element i belongs to lane i
// % spread.
void softmax_rows(const AttentionTask& task, const TileScratch& scratch, int first, int keys) {
  constexpr int kPattern = std::max(kN, kFewLanes);
  const Tag d;
  const int lanes = task.unit_lanes(), spread = spread_of(lanes);
  const int padded = (keys + 15) / 16 * 16, elements = padded * spread;
  const bool is_whole = !task.has_alibi && padded == keys &&
                        *std::max_element(scratch.low, scratch.low + lanes) <= first &&
                        *std::min_element(scratch.high, scratch.high + lanes) >= first + keys;
  if (!is_whole) mask_rows(task, scratch, first, keys, padded);
  alignas(64) float top[kPattern], total[kPattern];
  for (int i = 0; i < kPattern; ++i) top[i] = i % spread < lanes ? scratch.m[i % spread] : 0.0f;
  for (int at = 0; at < kPattern; at += kN) {
    Vec highest = hn::Load(d, top + at);
    for (int i = at; i < elements; i += kPattern)
      highest = hn::Max(highest, hn::Load(d, scratch.scores + i));
    hn::Store(highest, d, top + at);
  }
  alignas(64) float m_safe[kPattern] = {}, m_old[kPattern] = {}, corr[kPattern] = {};
  for (int lane = 0; lane < lanes; ++lane) {
    float m_new = top[lane];
    for (int i = lane; i < kPattern; i += spread) m_new = std::max(m_new, top[i]);
    m_old[lane] = scratch.m[lane];
    scratch.m[lane] = m_new;
    m_safe[lane] = m_new == kMinusInfinity ? 0.0f : m_new;
  }
  for (int at = 0; at < kPattern; at += kN)
    hn::Store(exp2_nonpositive(d, hn::Sub(hn::Load(d, m_old + at), hn::Load(d, m_safe + at))), d,
              corr + at);
  for (int i = spread; i < kPattern; ++i) m_safe[i] = m_safe[i % spread];
  for (int at = 0; at < kPattern; at += kN) {
    const Vec reference = hn::Load(d, m_safe + at);
    Vec sum = hn::Zero(d);
    for (int i = at; i < elements; i += kPattern) {
      const Vec p = exp2_nonpositive(d, hn::Sub(hn::Load(d, scratch.scores + i), reference));
      sum = hn::Add(sum, p);
      hn::Store(p, d, scratch.scores + i);
    }
    hn::Store(sum, d, total + at);
  }
  for (int lane = 0; lane < lanes; ++lane) {
    float sum = 0.0f;
    for (int i = lane; i < kPattern; i += spread) sum += total[i];
    scratch.n[lane] = scratch.n[lane] * corr[lane] + sum;
    scratch.corr[lane] = corr[lane];
  }
}

// ---- values ----

// For one lane: o[kN * kVectors] = o * corr + p v over keys [first, end), with kSplit also for the
// odd dimensions. `first` is the first key of a group. Unless kFetch is kNone, requests whole rows,
// also beyond the columns of this block.
template <int kVectors, bool kSplit, Fetch kFetch>
HWY_INLINE void value_row_block(const TileScratch& scratch, int first, int end, int column, int odd,
                                float corr) {
  constexpr int kHalves = kSplit ? 2 : 1;
  const Tag d;
  constexpr size_t kBlockBytes = size_t{kVectors} * kN * sizeof(float);
  const size_t row_bytes = scratch.values.row_bytes;
  const Ahead distance = groups_ahead(scratch.fetch, row_bytes);
  float* o = scratch.o + column;
  Vec sum[kVectors][kHalves];
  for (int c = 0; c < kVectors; ++c)
    for (int half = 0; half < kHalves; ++half)
      sum[c][half] = hn::Mul(hn::LoadU(d, o + kN * c + half * odd), hn::Set(d, corr));
  for (int j = first; j < end; j += kRowGroup) {
    const char* rows = scratch.values.row(j);
    const FetchAhead ahead =
        kFetch == Fetch::kNone ? FetchAhead{} : scratch.fetch_from_values(j / kRowGroup, distance);
    const int count = std::min(kRowGroup, end - j);
    for (int r = 0; r < count; ++r) {
      const size_t row_byte = static_cast<size_t>(r) * row_bytes;
      const float* row = reinterpret_cast<const float*>(rows + row_byte) + column;
      const Vec weight = hn::Set(d, scratch.scores[j + r]);
      for (int c = 0; c < kVectors; ++c) {
        fetch_line<kFetch>(ahead, row_byte, c);
        const RowVector<kSplit> values(row + kN * c);
        sum[c][0] = hn::MulAdd(weight, values.even, sum[c][0]);
        if constexpr (kSplit) sum[c][1] = hn::MulAdd(weight, values.odd, sum[c][1]);
      }
      if (kFetch == Fetch::kNone) continue;
      for (size_t byte = kBlockBytes; byte < row_bytes; byte += 64)
        ahead.line<kFetch>(row_byte + byte);
    }
  }
  for (int c = 0; c < kVectors; ++c)
    for (int half = 0; half < kHalves; ++half) hn::StoreU(sum[c][half], d, o + kN * c + half * odd);
}

// For one lane: updates all columns of o, a few keys at a time, so that the keys' rows of values
// are still in L1 for later columns.
template <bool kSplit, Fetch kFetch>
void value_row(const TileScratch& scratch, int vectors, int keys) {
  constexpr int kVectors = kSplit ? 4 : 8;
  const int step = vectors <= kVectors ? kKeyTile : 32;  // a single pass needs no L1
  for (int first = 0; first < keys; first += step) {
    const int end = std::min(first + step, keys);
    const float corr = first == 0 ? scratch.corr[0] : 1.0f;
    const auto block = [&](auto count, int c) {
      constexpr int kCount = decltype(count)::value;
      if (c == 0) {
        value_row_block<kCount, kSplit, kFetch>(scratch, first, end, 0, kN * vectors, corr);
      } else {
        value_row_block<kCount, kSplit, Fetch::kNone>(scratch, first, end, kN * c, kN * vectors,
                                                      corr);
      }
    };
    int c = 0;
    for (; c + kVectors <= vectors; c += kVectors)
      block(std::integral_constant<int, kVectors>{}, c);
    for (; c + 4 <= vectors; c += 4) block(std::integral_constant<int, 4>{}, c);
    for (; c < vectors; ++c) block(std::integral_constant<int, 1>{}, c);
  }
}

// Computes o = o * corr + p v. The weights p have replaced the scores.
void add_values(const AttentionTask& task, const TileScratch& lanes, int keys, bool fetches) {
  const RowShape rows = row_shape(task, lanes);
  if (task.unit_lanes() == 1)
    return with_fetch(lanes, fetches, [&](auto fetch) {
      constexpr Fetch kFetch = decltype(fetch)::value;
      rows.is_split ? value_row<true, kFetch>(lanes, rows.vectors, keys)
                    : value_row<false, kFetch>(lanes, rows.vectors, keys);
    });
  const int rows_ahead = fetches ? keys : 0;
  RowsAhead next_keys(lanes.next, 0, rows_ahead);
  const ValueTile tile{.lanes = task.unit_lanes(),
                       .keys = keys,
                       .key_stride = spread_of(task.unit_lanes()),
                       .vectors = rows.vectors,
                       .o = lanes.o,
                       .ahead = &next_keys,
                       .rows_ahead = rows_ahead};
  rows.is_split ? value_tile<true>(lanes, tile) : value_tile<false>(lanes, tile);
}

void AttentionFew(const AttentionTask& task, void* memory) {
  TileScratch scratch(memory, task.head_dim);
  scratch.fetch = task.fetch;
  pack_rows(task, scratch);
  const bool fetches = !needs_widening(task);
  const size_t q_bytes = static_cast<size_t>(scratch.padded_dim) * sizeof(float);
  visit_unit_tiles(task, scratch, !fetches, [&](int first, int keys, bool is_regular) {
    if (is_regular && task.units_together() > 1)
      return visit_runs(
          task, scratch, q_bytes, first, keys, spread_of(task.unit_lanes()),
          RunStages{
              .score = [&](const TileScratch& lanes,
                           int count) { score_rows(task, lanes, count, true); },
              .weigh = [&](const TileScratch& lanes) { softmax_rows(task, lanes, first, keys); },
              .add = [&](const TileScratch& lanes,
                         int count) { add_values(task, lanes, count, true); }});
    visit_units(
        task, scratch, q_bytes, first, keys, is_regular,
        [&](int unit) { gather_rows(task, scratch, first, keys, kKeyTile, unit); },
        [&](TileScratch lanes) {
          widen_rows(task, lanes, keys);
          score_rows(task, lanes, keys, fetches);
          softmax_rows(task, lanes, first, keys);
          add_values(task, lanes, keys, fetches);
        });
  });
  store_results(task, scratch);
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/device/cpu/hwy_dispatch.h"

namespace reprise::kernels::cpu {

HWY_EXPORT(AttentionFew);

void attention_few_f32(const AttentionTask& task, void* scratch, Isa isa) {
  REPRISE_DISPATCH(AttentionFew, isa)(task, scratch);
}

}  // namespace reprise::kernels::cpu
#endif
