// Attention of a lane tile in f32 arithmetic over keys and values of any dtype, for every
// instruction set.
//
// Organized like attention_avx512_bf16.cpp: with many lanes each key element is broadcast against
// the queries packed [dimension][lane]; with few lanes, scores are dot products along head_dim.
// Few lanes read f32 and bf16 rows as they lie: of each word of bf16 the even and the odd dimension
// are computed apart, so queries and sums have first all even dimensions, then all odd ones. All
// other rows, and those whose width is not a whole number of vectors, are first copied to padded
// f32 scratch; all lanes use the copy of a tile.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/attention/cpu/attention_f32.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <bit>

#include "core/base/constant.h"
#include "core/device/cpu/tag-inl.h"
#include "core/kernels/attention/cpu/attention_tile.h"
#include "core/kernels/attention/cpu/attention_units.h"
#include "core/kernels/shared/cpu/bf16_words-inl.h"
#include "core/kernels/shared/cpu/exp2-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = reprise::cpu::HWY_NAMESPACE::WholeTag<float>;
using Vec = hn::Vec<Tag>;
constexpr int kN = static_cast<int>(hn::MaxLanes(Tag()));
// Accumulators of a block: 24 with 32 registers, 12 with 16.
constexpr int kAccumulators = HWY_TARGET == HWY_AVX3 ? 24 : 12;
constexpr int kMostVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;

// Few lanes read rows of bf16 directly if they are whole vectors of words.
bool splits_words(const AttentionTask& task) {
  return task.kv_dtype == DType::kBF16 && task.unit_lanes() <= kFewLanes &&
         task.head_dim % (2 * kN) == 0;
}
// The place of dimension c among the split ones.
constexpr int split_place(int c, int head_dim) { return c / 2 + c % 2 * (head_dim / 2); }

// Packs queries, scaled to log2 units: [tile][dimension][lane] for many lanes, [lane][padded_dim]
// for few, perhaps with split dimensions.
void pack_queries(const AttentionTask& task, const TileScratch& scratch, bool few) {
  auto* q = static_cast<float*>(scratch.q);
  const int width = few ? task.lanes : (task.lanes + 15) / 16 * 16;
  const int dim = few ? scratch.padded_dim : task.head_dim;
  const bool is_split = splits_words(task);
  for (int lane = 0; lane < width; ++lane) {
    const float* row = lane < task.lanes ? query_of(task, lane) : nullptr;
    float* tile = q + lane / kLaneTile * kLaneTile * task.head_dim + lane % kLaneTile;
    for (int c = 0; c < dim; ++c) {
      const bool is_real = row != nullptr && c < task.head_dim;
      const float value = is_real ? row[c] * task.scale_log2 : 0.0f;
      const int place = is_split && is_real ? split_place(c, task.head_dim) : c;
      (few ? q[lane * scratch.padded_dim + place] : tile[c * kLaneTile]) = value;
    }
  }
}

// Copies rows into padded f32 scratch.
template <typename T>
void convert_rows(const RowGroups& rows, int count, int dim, int padded_dim, float* out) {
  for (int j = 0; j < count; ++j) {
    const T* in = reinterpret_cast<const T*>(rows.row(j));
    float* row = out + j * padded_dim;
    for (int c = 0; c < dim; ++c) row[c] = static_cast<float>(in[c]);
    for (int c = dim; c < padded_dim; ++c) row[c] = 0.0f;
  }
}

void convert_bf16_rows(const RowGroups& rows, int count, int dim, int padded_dim, float* out) {
  const hn::Rebind<uint16_t, Tag> d16;
  const hn::Rebind<uint32_t, Tag> d32;
  const Tag d;
  for (int j = 0; j < count; ++j) {
    const auto* in = reinterpret_cast<const uint16_t*>(rows.row(j));
    float* row = out + j * padded_dim;
    int c = 0;
    for (; c + kN <= dim; c += kN)
      hn::Store(hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, in + c)))), d,
                row + c);
    for (; c < padded_dim; ++c)
      row[c] = c < dim ? static_cast<float>(reinterpret_cast<const bf16*>(in)[c]) : 0.0f;
  }
}

bool needs_widening(const AttentionTask& task) {
  return !splits_words(task) && (task.kv_dtype != DType::kF32 || task.head_dim % kN != 0);
}

// Makes the tile's rows padded f32 in whole groups, by copying them if they are not.
void widen_rows(const AttentionTask& task, TileScratch& scratch, int keys) {
  if (!needs_widening(task)) return;
  const int count = (keys + kRowGroup - 1) / kRowGroup * kRowGroup;
  const auto convert = [&](RowGroups& rows, void* out) {
    auto* f32 = static_cast<float*>(out);
    switch (task.kv_dtype) {
      case DType::kF32:
        convert_rows<float>(rows, count, task.head_dim, scratch.padded_dim, f32);
        break;
      case DType::kBF16:
        convert_bf16_rows(rows, count, task.head_dim, scratch.padded_dim, f32);
        break;
      case DType::kF16:
        convert_rows<f16>(rows, count, task.head_dim, scratch.padded_dim, f32);
        break;
    }
    rows.row_bytes = static_cast<size_t>(scratch.padded_dim) * sizeof(float);
    const int last = count / kRowGroup - 1;
    for (int group = 0; group <= last + kGroupSlack; ++group)
      rows.groups[group] = static_cast<const char*>(out) +
                           static_cast<size_t>(std::min(group, last) * kRowGroup) * rows.row_bytes;
  };
  convert(scratch.keys, scratch.k);
  convert(scratch.values, scratch.v);
}

const float* row_at(const RowGroups& rows, int j) {
  return reinterpret_cast<const float*>(rows.row(j));
}

// ---- scores of many lanes ----

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

// ---- scores of few lanes ----

// Scores and weights of few lanes: [keys][spread_of(lanes)].
constexpr int spread_of(int lanes) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(lanes)));
}

// The rows of a tile as few lanes read them: of words if they are split, else of f32.
struct RowShape {
  bool is_split = false;
  int vectors = 0;  // of a row
};
RowShape row_shape(const AttentionTask& task, const TileScratch& scratch) {
  if (splits_words(task)) return {.is_split = true, .vectors = task.head_dim / (2 * kN)};
  return {.vectors = (task.head_dim % kN == 0 ? task.head_dim : scratch.padded_dim) / kN};
}

// Chooses the prefetch of few lanes: none if rows are converted, because these have been read
// already.
template <typename Use>
HWY_INLINE void with_fetch(const TileScratch& scratch, bool fetches, Use&& use) {
  if (!fetches) return use(std::integral_constant<Fetch, Fetch::kNone>{});
  with_setting(scratch.fetch, use);
}

// Fetches a line while vector `c` of a row is computed, if a line begins there.
template <Fetch kFetch>
HWY_INLINE void fetch_line(const FetchAhead& ahead, size_t row_byte, int c) {
  constexpr int kLineVectors = std::max(1, 16 / kN);
  if (kFetch == Fetch::kNone || c % kLineVectors != 0) return;
  ahead.line<kFetch>(row_byte + static_cast<size_t>(c) * kN * sizeof(float));
}

// A vector of a row: of f32 as it is, or the even and the odd dimensions of words.
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

// Sums that are added up together.
constexpr int kSums = 8;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// Halves two vectors of four sums' parts: those of a and b alternate.
template <class D, class V>
HWY_INLINE V halve(D d, V a, V b) {
  return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
}
// The sums of the elements of eight vectors of eight: 21 operations instead of 48.
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

// Scores of kLanes lanes with rows of kVectors vectors (0: known at run time only). One lane waits
// for memory, so it takes row after row; more have the rows in caches already. A row must take
// few instructions, because a core that waits for lines looks ahead no further than its instruction
// buffer. (One lane, two threads of a Xeon, rows of 128 f32, compared with a loop that computes
// addresses and widths for each row: 1.00 against 0.88 of the rate of reading without computing;
// with AVX2 0.94 against 0.86.)
template <int kLanes, bool kSplit, int kVectors, Fetch kFetch>
void score_keys(const TileScratch& scratch, int vectors, int keys) {
  constexpr int kSpread = spread_of(kLanes), kKeys = kSums / kSpread;
  const int count = kVectors > 0 ? kVectors : vectors;
  const size_t row_bytes =
      kVectors > 0 ? size_t{kVectors} * kN * sizeof(float) : scratch.keys.row_bytes;
  const int odd = kSplit ? count * kN : 0;
  const auto* q = static_cast<const float*>(scratch.q);
  // One lane reads the values at the pace of the keys. Several lanes read them repeatedly, so all
  // values are fetched by then.
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

// Adds biases to the scores of few lanes and masks what a lane does not see.
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

// Online softmax of few lanes. A vector holds several keys of all lanes, or part of the lanes of a
// key: element i of a pattern of kPattern belongs to lane i % spread.
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

// o[kLanes][kN * kVectors] = o * corr + p v with p[key][key_stride], and with split words the same
// for the odd dimensions, whose sums lie `odd` further on.
template <int kLanes, int kVectors, bool kSplit>
HWY_INLINE void value_block(const float* HWY_RESTRICT p, int key_stride, const RowGroups& v,
                            int keys, int column, int padded_dim, int odd, const float* corr,
                            float* HWY_RESTRICT o) {
  constexpr int kHalves = kSplit ? 2 : 1;
  const Tag d;
  const auto at = [&](int r, int c, int half) { return o + r * padded_dim + kN * c + half * odd; };
  Vec sum[kLanes][kVectors][kHalves];
  for (int r = 0; r < kLanes; ++r)
    for (int c = 0; c < kVectors; ++c)
      for (int half = 0; half < kHalves; ++half)
        sum[r][c][half] = hn::Mul(hn::LoadU(d, at(r, c, half)), hn::Set(d, corr[r]));
  for (int j = 0; j < keys; j += kRowGroup) {
    const char* row = v.row(j) + static_cast<size_t>(column) * sizeof(float);
    const int end = std::min(keys, j + kRowGroup);
    for (int key = j; key < end; ++key, row += v.row_bytes) {
      Vec values[kVectors][kHalves];
      for (int c = 0; c < kVectors; ++c) {
        const RowVector<kSplit> vector(reinterpret_cast<const float*>(row) + kN * c);
        values[c][0] = vector.even;
        if constexpr (kSplit) values[c][1] = vector.odd;
      }
      for (int r = 0; r < kLanes; ++r) {
        const Vec weight = hn::Set(d, p[key * key_stride + r]);
        for (int c = 0; c < kVectors; ++c)
          for (int half = 0; half < kHalves; ++half)
            sum[r][c][half] = hn::MulAdd(weight, values[c][half], sum[r][c][half]);
      }
    }
  }
  for (int r = 0; r < kLanes; ++r)
    for (int c = 0; c < kVectors; ++c)
      for (int half = 0; half < kHalves; ++half) hn::StoreU(sum[r][c][half], d, at(r, c, half));
}

// The blocks into which a tile's output is divided all take these.
struct ValueTile {
  int lanes = 0, keys = 0;
  int key_stride = 0;          // of p
  int vectors = 0;             // of a row of values
  float* o = nullptr;          // of the first lane
  RowsAhead* ahead = nullptr;  // rows to prefetch meanwhile
  int rows_ahead = 0;
};

template <int kVectors, bool kSplit>
void value_columns(const TileScratch& scratch, const ValueTile& tile, int column,
                   int rows_per_block) {
  cut_lanes(tile.lanes, [&](auto height, int lane) {
    tile.ahead->take(rows_per_block);
    value_block<decltype(height)::value, kVectors, kSplit>(
        scratch.scores + lane, tile.key_stride, scratch.values, tile.keys, column,
        scratch.padded_dim, tile.vectors * kN, scratch.corr + lane,
        tile.o + lane * scratch.padded_dim + column);
  });
}

// Updates all columns of o for the tile's lanes; meanwhile prefetches rows.
template <bool kSplit>
void value_tile(const TileScratch& scratch, const ValueTile& tile) {
  constexpr int kMost = kSplit ? kMostVectors / 2 : kMostVectors;
  const int blocks = (tile.vectors / kMost + tile.vectors % kMost) * lane_blocks(tile.lanes);
  const int share = (tile.rows_ahead + blocks - 1) / blocks;
  int c = 0;
  for (; c + kMost <= tile.vectors; c += kMost)
    value_columns<kMost, kSplit>(scratch, tile, kN * c, share);
  for (; c < tile.vectors; ++c) value_columns<1, kSplit>(scratch, tile, kN * c, share);
}

// One lane: o[kN * kVectors] = o * corr + p v over keys [first, end), where `first` begins a group;
// with split words also the odd dimensions. The pass that prefetches does so for whole rows.
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

// One lane: updates all columns of o, a few keys at a time so that they are still in L1 for later
// columns.
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

// Puts the split dimensions of a lane's sums into the order of memory.
void join_words(const AttentionTask& task, float* o) {
  alignas(64) float joined[kMaxHeadDim];
  for (int c = 0; c < task.head_dim; ++c) joined[c] = o[split_place(c, task.head_dim)];
  std::copy_n(joined, task.head_dim, o);
}

void store_results(const AttentionTask& task, const TileScratch& scratch) {
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

// o = o * corr + p v, where p has replaced the scores.
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

void few_lanes(const AttentionTask& task, TileScratch& scratch) {
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
}

// The first lane tile to see a key tile also prefetches: values during the scores, the next tile's
// keys during the output. Rows that are converted have been read already.
void many_lanes(const AttentionTask& task, TileScratch& scratch) {
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
}

void AttentionTile(const AttentionTask& task, void* memory) {
  TileScratch scratch(memory, task.head_dim);
  scratch.fetch = task.fetch;
  const bool few = task.unit_lanes() <= kFewLanes;
  pack_queries(task, scratch, few);
  if (few) {
    few_lanes(task, scratch);
  } else {
    many_lanes(task, scratch);
  }
  store_results(task, scratch);
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/device/cpu/hwy_dispatch.h"

namespace reprise::kernels::cpu {

HWY_EXPORT(AttentionTile);

size_t attention_scratch_bytes(int head_dim) { return TileScratch(nullptr, head_dim).bytes; }

void attention_f32(const AttentionTask& task, void* scratch, Isa isa) {
  REPRISE_DISPATCH(AttentionTile, isa)(task, scratch);
}

}  // namespace reprise::kernels::cpu
#endif
