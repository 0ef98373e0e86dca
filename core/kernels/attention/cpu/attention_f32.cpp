// Attention of a lane tile in f32 arithmetic over keys and values of any dtype, for every
// instruction set.
//
// Organized like attention_avx512_bf16.cpp: with many lanes each key element is broadcast against
// the queries packed [dimension][lane]; with few lanes, scores are dot products along head_dim.
// Rows that are not f32, or whose width is not a whole number of vectors, are first copied to
// padded f32 scratch; all lanes use the copy of a tile.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/attention/cpu/attention_f32.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "core/base/constant.h"
#include "core/device/cpu/tag-inl.h"
#include "core/kernels/attention/cpu/attention_tile.h"
#include "core/kernels/attention/cpu/attention_units.h"
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

// Packs queries, scaled to log2 units: [tile][dimension][lane] for many lanes, [lane][padded_dim]
// for few.
void pack_queries(const AttentionTask& task, const TileScratch& scratch, bool few) {
  auto* q = static_cast<float*>(scratch.q);
  const int width = few ? task.lanes : (task.lanes + 15) / 16 * 16;
  const int dim = few ? scratch.padded_dim : task.head_dim;
  for (int lane = 0; lane < width; ++lane) {
    const float* row = lane < task.lanes ? query_of(task, lane) : nullptr;
    float* tile = q + lane / kLaneTile * kLaneTile * task.head_dim + lane % kLaneTile;
    for (int c = 0; c < dim; ++c) {
      const float value = row != nullptr && c < task.head_dim ? row[c] * task.scale_log2 : 0.0f;
      (few ? q[lane * scratch.padded_dim + c] : tile[c * kLaneTile]) = value;
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
  return task.kv_dtype != DType::kF32 || task.head_dim % kN != 0;
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

// One lane with rows of kVectors vectors; the query stays in registers if they suffice. A row must
// take few instructions, because a core that waits for lines looks ahead no further than its
// instruction buffer. (Two threads of a Xeon, rows of 128, compared with a loop that computes
// addresses and widths for each row: 1.00 against 0.88 of the rate of reading without computing;
// with AVX2 0.94 against 0.86.)
template <int kVectors, Fetch kFetch>
void score_lane(const TileScratch& scratch, const float* query, int keys, float* scores) {
  const Tag d;
  constexpr size_t kRowBytes = size_t{kVectors} * kN * sizeof(float);
  const Ahead distance = groups_ahead(scratch.fetch, kRowBytes);
  Vec q[kVectors];
  for (int c = 0; c < kVectors; ++c) q[c] = hn::Load(d, query + kN * c);
  for (int j = 0; j < keys; j += kRowGroup) {
    const auto* rows = reinterpret_cast<const float*>(scratch.keys.row(j));
    const FetchAhead ahead =
        kFetch == Fetch::kNone ? FetchAhead{} : scratch.fetch_from_keys(j / kRowGroup, distance);
    for (int r = 0; r < kRowGroup; ++r, rows += kVectors * kN) {
      Vec sum[2] = {hn::Zero(d), hn::Zero(d)};
      for (int c = 0; c < kVectors; ++c) {
        fetch_line<kFetch>(ahead, static_cast<size_t>(r) * kRowBytes, c);
        sum[c % 2] = hn::MulAdd(hn::LoadU(d, rows + kN * c), q[c], sum[c % 2]);
      }
      scores[j + r] = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum[0], sum[1])));
    }
  }
}

// Few lanes, or rows of any width.
template <Fetch kFetch>
void score_lanes_by_row(const TileScratch& scratch, int lanes, int dim, int keys) {
  const Tag d;
  const size_t row_bytes = scratch.keys.row_bytes;
  // One lane reads the values at the pace of the keys. Several lanes read them repeatedly, so all
  // values are prefetched by then.
  Ahead distance = rows_ahead(scratch.fetch, row_bytes);
  if (lanes > 1) distance.far = kKeyTile;
  for (int j = 0; j < keys; ++j) {
    const float* k = row_at(scratch.keys, j);
    if (kFetch != Fetch::kNone) {
      const FetchAhead ahead = scratch.fetch_from_row(j, distance);
      for (size_t byte = 0; byte < row_bytes; byte += 64) ahead.line<kFetch>(byte);
    }
    for (int lane = 0; lane < lanes; ++lane) {
      const float* q = static_cast<const float*>(scratch.q) + lane * scratch.padded_dim;
      Vec s0 = hn::Zero(d), s1 = hn::Zero(d);
      int c = 0;
      for (; c + 2 * kN <= dim; c += 2 * kN) {
        s0 = hn::MulAdd(hn::LoadU(d, k + c), hn::Load(d, q + c), s0);
        s1 = hn::MulAdd(hn::LoadU(d, k + c + kN), hn::Load(d, q + c + kN), s1);
      }
      if (c < dim) s0 = hn::MulAdd(hn::LoadU(d, k + c), hn::Load(d, q + c), s0);
      scratch.scores[lane * kKeyTile + j] = hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
    }
  }
}

void score_rows(const AttentionTask& task, const TileScratch& scratch, int keys, bool fetches) {
  const int dim = task.head_dim % kN == 0 ? task.head_dim : scratch.padded_dim;
  const int lanes = task.unit_lanes();
  with_fetch(scratch, fetches, [&](auto fetch) {
    constexpr Fetch kFetch = decltype(fetch)::value;
    const auto* q = static_cast<const float*>(scratch.q);
    if (lanes > 1 || scratch.keys.row_bytes != static_cast<size_t>(dim) * sizeof(float))
      return score_lanes_by_row<kFetch>(scratch, lanes, dim, keys);
    switch (dim / kN) {
      case 4:
        return score_lane<4, kFetch>(scratch, q, keys, scratch.scores);
      case 8:
        return score_lane<8, kFetch>(scratch, q, keys, scratch.scores);
      case 16:
        return score_lane<16, kFetch>(scratch, q, keys, scratch.scores);
      default:
        return score_lanes_by_row<kFetch>(scratch, 1, dim, keys);
    }
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

void softmax_rows(const AttentionTask& task, const TileScratch& scratch, int first, int keys) {
  const Tag d;
  const int padded = (keys + kN - 1) / kN * kN;
  for (int lane = 0; lane < task.unit_lanes(); ++lane) {
    float* row = scratch.scores + lane * kKeyTile;
    const bool is_whole = !task.has_alibi && padded == keys && scratch.low[lane] <= first &&
                          scratch.high[lane] >= first + keys;
    for (int j = 0; j < padded && !is_whole; ++j) {
      const int key = first + j;
      if (j >= keys || key < scratch.low[lane] || key >= scratch.high[lane]) {
        row[j] = kMinusInfinity;
      } else if (task.has_alibi) {
        row[j] += task.alibi_factor(scratch.unit) * (scratch.alibi_k[j] - scratch.alibi_q[lane]);
      }
    }
    Vec top = hn::Set(d, scratch.m[lane]);
    for (int j = 0; j < padded; j += kN) top = hn::Max(top, hn::Load(d, row + j));
    const float m_new = hn::GetLane(hn::MaxOfLanes(d, top));
    const Vec m_safe = hn::Set(d, m_new == kMinusInfinity ? 0.0f : m_new);
    const float corr =
        hn::GetLane(exp2_nonpositive(d, hn::Sub(hn::Set(d, scratch.m[lane]), m_safe)));
    Vec sum = hn::Zero(d);
    for (int j = 0; j < padded; j += kN) {
      const Vec p = exp2_nonpositive(d, hn::Sub(hn::Load(d, row + j), m_safe));
      sum = hn::Add(sum, p);
      hn::Store(p, d, row + j);
    }
    scratch.m[lane] = m_new;
    scratch.n[lane] = scratch.n[lane] * corr + hn::GetLane(hn::SumOfLanes(d, sum));
    scratch.corr[lane] = corr;
  }
}

// ---- values ----

// o[kLanes][kN * kVectors] = o * corr + p v. kByKey: p[key][lane], else p[lane][key].
template <int kLanes, int kVectors, bool kByKey>
HWY_INLINE void value_block(const float* HWY_RESTRICT p, const RowGroups& v, int keys, int column,
                            int padded_dim, const float* corr, float* HWY_RESTRICT o) {
  constexpr int kKeyStep = kByKey ? kLaneTile : 1, kLaneStep = kByKey ? 1 : kKeyTile;
  const Tag d;
  Vec sum[kLanes][kVectors];
  for (int r = 0; r < kLanes; ++r)
    for (int c = 0; c < kVectors; ++c)
      sum[r][c] = hn::Mul(hn::Load(d, o + r * padded_dim + kN * c), hn::Set(d, corr[r]));
  for (int j = 0; j < keys; ++j) {
    const float* row = row_at(v, j) + column;
    Vec values[kVectors];
    for (int c = 0; c < kVectors; ++c) values[c] = hn::LoadU(d, row + kN * c);
    for (int r = 0; r < kLanes; ++r) {
      const Vec weight = hn::Set(d, p[j * kKeyStep + r * kLaneStep]);
      for (int c = 0; c < kVectors; ++c) sum[r][c] = hn::MulAdd(weight, values[c], sum[r][c]);
    }
  }
  for (int r = 0; r < kLanes; ++r)
    for (int c = 0; c < kVectors; ++c) hn::Store(sum[r][c], d, o + r * padded_dim + kN * c);
}

template <int kVectors, bool kByKey>
void value_columns(const TileScratch& scratch, float* o, int lanes, int keys, int column,
                   RowsAhead& ahead, int rows_per_block) {
  constexpr int kLaneStep = kByKey ? 1 : kKeyTile;
  cut_lanes(lanes, [&](auto height, int lane) {
    ahead.take(rows_per_block);
    value_block<decltype(height)::value, kVectors, kByKey>(
        scratch.scores + lane * kLaneStep, scratch.values, keys, column, scratch.padded_dim,
        scratch.corr + lane, o + lane * scratch.padded_dim + column);
  });
}

// Updates all columns of o for `lanes` lanes; meanwhile prefetches `rows_ahead` rows.
template <bool kByKey>
void value_tile(const TileScratch& scratch, float* o, int lanes, int dim, int keys,
                RowsAhead& ahead, int rows_ahead) {
  const int padded = (dim + kN - 1) / kN * kN;
  constexpr int kWide = kMostVectors * kN;
  const int blocks = (padded / kWide + padded % kWide / kN) * lane_blocks(lanes);
  const int share = (rows_ahead + blocks - 1) / blocks;
  int column = 0;
  for (; column + kWide <= padded; column += kWide)
    value_columns<kMostVectors, kByKey>(scratch, o, lanes, keys, column, ahead, share);
  for (; column < padded; column += kN)
    value_columns<1, kByKey>(scratch, o, lanes, keys, column, ahead, share);
}

// One lane: o[kN * kVectors] = o * corr + p v over keys [first, end), where `first` begins a group.
// The pass that prefetches does so for whole rows.
template <int kVectors, Fetch kFetch>
HWY_INLINE void value_row_block(const TileScratch& scratch, int first, int end, int column,
                                float corr) {
  const Tag d;
  constexpr size_t kBlockBytes = size_t{kVectors} * kN * sizeof(float);
  const size_t row_bytes = scratch.values.row_bytes;
  const Ahead distance = groups_ahead(scratch.fetch, row_bytes);
  float* o = scratch.o + column;
  Vec sum[kVectors];
  for (int c = 0; c < kVectors; ++c) sum[c] = hn::Mul(hn::Load(d, o + kN * c), hn::Set(d, corr));
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
        sum[c] = hn::MulAdd(weight, hn::LoadU(d, row + kN * c), sum[c]);
      }
      if (kFetch == Fetch::kNone) continue;
      for (size_t byte = kBlockBytes; byte < row_bytes; byte += 64)
        ahead.line<kFetch>(row_byte + byte);
    }
  }
  for (int c = 0; c < kVectors; ++c) hn::Store(sum[c], d, o + kN * c);
}

// One lane: updates all columns of o, a few keys at a time so that they are still in L1 for later
// columns.
template <Fetch kFetch>
void value_row(const TileScratch& scratch, int dim, int keys) {
  constexpr int kVectors = 8;
  const int padded = (dim + kN - 1) / kN * kN;
  const int step = padded <= kVectors * kN ? kKeyTile : 32;  // a single pass needs no L1
  for (int first = 0; first < keys; first += step) {
    const int end = std::min(first + step, keys);
    const float corr = first == 0 ? scratch.corr[0] : 1.0f;
    const auto block = [&](auto vectors, int column) {
      constexpr int kCount = decltype(vectors)::value;
      if (column == 0) {
        value_row_block<kCount, kFetch>(scratch, first, end, column, corr);
      } else {
        value_row_block<kCount, Fetch::kNone>(scratch, first, end, column, corr);
      }
    };
    int column = 0;
    for (; column + kVectors * kN <= padded; column += kVectors * kN)
      block(std::integral_constant<int, kVectors>{}, column);
    for (; column + 4 * kN <= padded; column += 4 * kN)
      block(std::integral_constant<int, 4>{}, column);
    for (; column < padded; column += kN) block(std::integral_constant<int, 1>{}, column);
  }
}

void store_results(const AttentionTask& task, const TileScratch& scratch) {
  for (int lane = 0; lane < task.lanes; ++lane) {
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
  if (task.unit_lanes() == 1)
    return with_fetch(lanes, fetches, [&](auto fetch) {
      value_row<decltype(fetch)::value>(lanes, task.head_dim, keys);
    });
  const int rows_ahead = fetches ? keys : 0;
  RowsAhead next_keys(lanes.next, 0, rows_ahead);
  value_tile<false>(lanes, lanes.o, task.unit_lanes(), task.head_dim, keys, next_keys, rows_ahead);
}

void few_lanes(const AttentionTask& task, TileScratch& scratch) {
  const bool fetches = !needs_widening(task);
  const size_t q_bytes = static_cast<size_t>(scratch.padded_dim) * sizeof(float);
  visit_unit_tiles(task, scratch, !fetches, [&](int first, int keys, bool is_regular) {
    if (is_regular && task.units_together() > 1)
      return visit_runs(
          task, scratch, q_bytes, first, keys,
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
        value_tile<true>(scratch, scratch.o + tile.first * scratch.padded_dim, tile.lanes,
                         task.head_dim, keys, next_keys, rows_ahead);
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
