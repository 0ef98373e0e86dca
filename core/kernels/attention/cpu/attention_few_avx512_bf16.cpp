// Attention of few lanes (decode) over bf16 keys and values. Memory is the limit, so the kernel
// leaves most cycles of a core free while rows stream in.
//
// Scores are computed for 16 keys at a time. With up to three lanes, they are dot products along
// head_dim, whose partial sums are added by a tree that also transposes them (DotTree). With more
// lanes (grouped queries), the 16 keys are transposed in registers, and each pair of a lane's query
// is broadcast and multiplied with them. Values are read in pairs of keys, without being
// rearranged; a lane sums as many vectors of 32 dimensions as fit the registers. Rows are
// prefetched in the order of reading, because the hardware prefetcher follows them only to the end
// of a block of the paged KV cache.
#include "core/base/constant.h"
#include "core/kernels/attention/cpu/attention_tile.h"
#include "core/kernels/attention/cpu/attention_units.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma")

#include "core/kernels/attention/cpu/avx512_bf16-inl.h"

namespace reprise::kernels::cpu {
namespace {

// Calls use(vectors, has_tail) with integral constants for rows of head_dim dimensions. A row has
// `vectors` vectors of 32 dimensions; if has_tail, the last vector is partly used. For common head
// sizes the row length is then a constant.
template <typename Use>
void with_vectors(int head_dim, Use&& use) {
  using std::integral_constant;
  if (head_dim == 64) return use(integral_constant<int, 2>{}, std::false_type{});
  if (head_dim == 128) return use(integral_constant<int, 4>{}, std::false_type{});
  with_constant<1, 2, 3, 4, 5, 6, 7, 8>((head_dim + 31) / 32,
                                        [&](auto vectors) { use(vectors, std::true_type{}); });
}

// Number of groups of rows in a step. Tasks of several lanes read a step repeatedly, a few vectors
// of dimensions at a time. A step has about 8 KiB, which stay in L1 along with the prefetched
// lines; longer steps load and store the sums less often.
constexpr int step_groups(int row_bytes) {
  return std::clamp((8 << 10) / (kRowGroup * row_bytes), 2, 4);
}
// How many groups ahead of the computed group rows are prefetched (far) and loaded (near). Steps
// need lines in bursts, so a whole step must lie between the two distances. (Zen 5, head_dim 128, 4
// lanes, relative to 84 GB/s: steps of 4 groups reach 0.90 if they prefetch 8 groups ahead, 0.82
// with 12 groups, and 0.63 with 6; steps of 2 groups that prefetch 5 groups ahead reach 0.76.)
Ahead groups_ahead(const FetchSetting& fetch, int row_bytes, int lanes) {
  const Ahead even = cpu::groups_ahead(fetch, static_cast<size_t>(row_bytes));
  if (lanes <= 2) return even;
  const int step = step_groups(row_bytes);
  return {.far = std::max(even.far, 2 * step), .near = even.near == 0 ? 0 : step};
}

// ---- queries ----

// Number of words (pairs of dimensions) of a query, rounded up to whole vectors.
int words_of(int head_dim) { return (head_dim + 31) / 32 * 16; }

// Packs scaled queries as [lane][words].
void pack_queries(const AttentionTask& task, const TileScratch& scratch) {
  const int words = words_of(task.head_dim);
  const __m512 scale = _mm512_set1_ps(task.scale_log2);
  const auto load = [&](const float* row, int c) {
    const int left = std::clamp(task.head_dim - c, 0, 16);
    return _mm512_mul_ps(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1 << left) - 1), row + c),
                         scale);
  };
  for (int lane = 0; lane < task.lanes; ++lane) {
    const float* row = query_of(task, lane);
    uint32_t* packed = static_cast<uint32_t*>(scratch.q) + lane * words;
    for (int c = 0; c < 2 * words; c += 32)
      _mm512_store_si512(packed + c / 2,
                         as_bits(_mm512_cvtne2ps_pbh(load(row, c + 16), load(row, c))));
  }
}

// ---- scores ----

// 16 key rows of 32 * kVectors dimensions. If kHasTail, `tail` masks the last vector of a row.
template <int kVectors, bool kHasTail>
struct KeyRows {
  const char* low;   // rows 0..7 of 16
  const char* high;  // rows 8..15
  size_t row_bytes;
  __mmask32 tail;
  FetchAhead ahead_low, ahead_high;

  [[nodiscard]] size_t byte_of(int row, int c) const {
    const size_t bytes = kHasTail ? row_bytes : size_t{64} * kVectors;
    return static_cast<size_t>(row % 8) * bytes + static_cast<size_t>(64 * c);
  }
  [[nodiscard]] __m512i vector(int row, int c) const {
    const char* at = (row < 8 ? low : high) + byte_of(row, c);
    if (kHasTail && c == kVectors - 1) return _mm512_maskz_loadu_epi16(tail, at);
    return _mm512_loadu_si512(at);
  }
  void fetch(int row, int c) const { (row < 8 ? ahead_low : ahead_high).line(byte_of(row, c)); }
  template <Fetch kFetch>
  void fetch(int row, int c) const {
    (row < 8 ? ahead_low : ahead_high).line<kFetch>(byte_of(row, c));
  }
};

// Computes the sums of the products of 16 rows; the sum of row i is in element i of the result.
// Partial sums are halved and paired level by level, so that few registers are in use at a time.
// Rows are taken in memory order, so the sums are in bit-reversed order until the last step.
template <int kVectors, bool kHasTail, Fetch kFetch>
struct DotTree {
  KeyRows<kVectors, kHasTail> rows;
  __m512bh q[kVectors];

  template <int kRow>
  [[nodiscard, gnu::always_inline]] __m512 dot() const {
    __m512 sum = _mm512_setzero_ps();
#pragma GCC unroll 8
    for (int c = 0; c < kVectors; ++c) {
      sum = _mm512_dpbf16_ps(sum, q[c], as_bh(rows.vector(kRow, c)));
      rows.template fetch<kFetch>(kRow, c);
    }
    return sum;
  }
  template <int kRow>
  [[nodiscard, gnu::always_inline]] __m512 pair() const {
    const __m512 a = dot<kRow>(), b = dot<kRow + 1>();
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
  }
  template <int kRow>
  [[nodiscard, gnu::always_inline]] __m512 four() const {
    const __m512 a = pair<kRow>(), b = pair<kRow + 2>();
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
  }
  template <int kRow>
  [[nodiscard, gnu::always_inline]] __m512 eight() const {
    const __m512 a = four<kRow>(), b = four<kRow + 4>();
    return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  }
  [[nodiscard, gnu::always_inline]] __m512 all() const {
    const __m512 a = eight<0>(), b = eight<8>();
    const __m512 mixed = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    const __m512i from = _mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15);
    return _mm512_permutexvar_ps(from, mixed);
  }
};

// Computes scores[lane][key] of 16 keys for one lane. score_by_dots() calls this for each lane in
// turn.
template <Fetch kFetch, int kVectors, bool kHasTail>
inline void score_lane(const TileScratch& scratch, int lane,
                       const KeyRows<kVectors, kHasTail>& rows, float* scores) {
  DotTree<kVectors, kHasTail, kFetch> tree{.rows = rows, .q = {}};
  const auto* q = static_cast<const uint32_t*>(scratch.q) + lane * 16 * kVectors;
#pragma GCC unroll 8
  for (int c = 0; c < kVectors; ++c) tree.q[c] = as_bh(_mm512_load_si512(q + 16 * c));
  _mm512_store_ps(scores + lane * kKeyTile, tree.all());
}
template <int kVectors, bool kHasTail>
inline void score_by_dots(const TileScratch& scratch, int lanes,
                          const KeyRows<kVectors, kHasTail>& rows, float* scores) {
  with_setting(scratch.fetch,
               [&](auto fetch) { score_lane<decltype(fetch)::value>(scratch, 0, rows, scores); });
  for (int lane = 1; lane < lanes; ++lane) score_lane<Fetch::kNone>(scratch, lane, rows, scores);
}

// Computes scores[lane][key] of 16 keys for kLanes lanes at once, from keys that it transposes
// vector by vector.
template <int kLanes, int kVectors, bool kHasTail>
inline void score_transposed(const TileScratch& scratch, const KeyRows<kVectors, kHasTail>& rows,
                             float* scores) {
  const auto* q = static_cast<const uint32_t*>(scratch.q);
  __m512 sum[kLanes];
#pragma GCC unroll 8
  for (int lane = 0; lane < kLanes; ++lane) sum[lane] = _mm512_setzero_ps();
#pragma GCC unroll 1
  for (int c = 0; c < kVectors; ++c) {
    __m512i keys[16];
#pragma GCC unroll 16
    for (int row = 0; row < 16; ++row) {
      keys[row] = rows.vector(row, c);
      rows.fetch(row, c);
    }
    transpose(keys);
#pragma GCC unroll 16
    for (int word = 0; word < 16; ++word)
#pragma GCC unroll 8
      for (int lane = 0; lane < kLanes; ++lane)
        sum[lane] = _mm512_dpbf16_ps(
            sum[lane], as_bh(keys[word]),
            as_bh(_mm512_set1_epi32(static_cast<int>(q[(lane * kVectors + c) * 16 + word]))));
  }
#pragma GCC unroll 8
  for (int lane = 0; lane < kLanes; ++lane) _mm512_store_ps(scores + lane * kKeyTile, sum[lane]);
}

template <int kVectors, bool kHasTail>
void score_rows(const AttentionTask& task, const TileScratch& scratch, int keys) {
  const int left = task.head_dim - 32 * (kVectors - 1), lanes = task.unit_lanes();
  const RowGroups& k = scratch.keys;
  const Ahead ahead = groups_ahead(scratch.fetch, 64 * kVectors, lanes);
  for (int j = 0; j < keys; j += 16) {
    const KeyRows<kVectors, kHasTail> rows{
        .low = k.row(j),
        .high = k.row(j + 8),
        .row_bytes = k.row_bytes,
        .tail = left >= 32 ? ~__mmask32{0} : (__mmask32{1} << left) - 1,
        .ahead_low = scratch.fetch_from_keys(j / kRowGroup, ahead),
        .ahead_high = scratch.fetch_from_keys(j / kRowGroup + 1, ahead)};
    float* scores = scratch.scores + j;
    // Transposing costs 64 shuffles for each vector of dimensions, DotTree 45 operations for each
    // lane. With trees, the first lane reads all rows, as they arrive from memory, before the other
    // lanes compute. (Zen 5, head_dim 128: transposing is 15 % faster with 4 lanes, and no faster
    // with 2 or 3.)
    if (lanes <= std::min(3, kVectors)) {
      score_by_dots(scratch, lanes, rows, scores);
      continue;
    }
    with_constant<2, 3, 4, 5, 6, 7, 8>(lanes, [&](auto count) {
      score_transposed<decltype(count)::value>(scratch, rows, scores);
    });
  }
}

void score_rows(const AttentionTask& task, const TileScratch& scratch, int keys) {
  with_vectors(task.head_dim, [&](auto vectors, auto has_tail) {
    score_rows<decltype(vectors)::value, decltype(has_tail)::value>(task, scratch, keys);
  });
}

// ---- softmax ----

// Online softmax of scores[lane][key]; writes weights to p[lane][key pair].
void softmax_rows(const AttentionTask& task, const TileScratch& scratch, int first, int keys) {
  const __m512i step = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const int padded = (keys + 15) / 16 * 16;
  for (int lane = 0; lane < task.unit_lanes(); ++lane) {
    float* row = scratch.scores + lane * kKeyTile;
    const int low = scratch.low[lane], high = std::min(scratch.high[lane], first + keys);
    __m512 top = _mm512_set1_ps(scratch.m[lane]);
    const bool is_whole = !task.has_alibi && low <= first && high == first + padded;
    for (int j = 0; j < padded; j += 16) {
      __m512 s = _mm512_load_ps(row + j);
      if (is_whole) {
        top = _mm512_max_ps(top, s);
        continue;
      }
      if (task.has_alibi)
        s = _mm512_fmadd_ps(_mm512_set1_ps(task.alibi_factor(scratch.unit)),
                            _mm512_sub_ps(_mm512_load_ps(scratch.alibi_k + j),
                                          _mm512_set1_ps(scratch.alibi_q[lane])),
                            s);
      const __m512i key = _mm512_add_epi32(step, _mm512_set1_epi32(first + j));
      const __mmask16 visible = _mm512_cmpge_epi32_mask(key, _mm512_set1_epi32(low)) &
                                _mm512_cmplt_epi32_mask(key, _mm512_set1_epi32(high));
      s = _mm512_mask_mov_ps(_mm512_set1_ps(kMasked), visible, s);
      _mm512_store_ps(row + j, s);
      top = _mm512_max_ps(top, s);
    }
    const __m512 m_new = _mm512_set1_ps(_mm512_reduce_max_ps(top));
    const __m512 m_safe = safe_maximum(m_new);
    const float corr = _mm512_cvtss_f32(correction(_mm512_set1_ps(scratch.m[lane]), m_safe));
    __m512 sum = _mm512_setzero_ps();
    auto* p =
        reinterpret_cast<uint16_t*>(static_cast<uint32_t*>(scratch.p) + lane * (kKeyTile / 2));
    for (int j = 0; j < padded; j += 16) {
      const __m512 weights = exp2_weight(_mm512_sub_ps(_mm512_load_ps(row + j), m_safe));
      sum = _mm512_add_ps(sum, weights);
      _mm256_store_si256(reinterpret_cast<__m256i*>(p + j),
                         reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(weights)));
    }
    scratch.m[lane] = _mm512_cvtss_f32(m_new);
    scratch.n[lane] = scratch.n[lane] * corr + _mm512_reduce_add_ps(sum);
    scratch.corr[lane] = corr;
  }
}

// ---- values ----

// Reorders two vectors of sums from memory order to the order in which unpacking two rows leaves
// the dimensions: even groups of four in `low`, odd groups of four in `high`.
inline void to_unpacked(__m512& low, __m512& high) {
  const __m512 first = low;
  low = _mm512_shuffle_f32x4(first, high, 0x88);
  high = _mm512_shuffle_f32x4(first, high, 0xdd);
}
inline void from_unpacked(__m512& low, __m512& high) {
  const __m512 first = _mm512_shuffle_f32x4(low, high, 0x44);
  const __m512 second = _mm512_shuffle_f32x4(low, high, 0xee);
  low = _mm512_shuffle_f32x4(first, first, 0xd8);
  high = _mm512_shuffle_f32x4(second, second, 0xd8);
}

// For one lane: o = o * corr + p v. The rows of v have up to 32 * kVectors dimensions and are read
// where they lie, in groups. With kHasTail the last vector of a row is partly used.
template <int kVectors, bool kHasTail, Fetch kFetch>
[[gnu::noinline]] void value_row(const AttentionTask& task, const TileScratch& scratch) {
  const size_t row_bytes = kHasTail ? scratch.values.row_bytes : size_t{64} * kVectors;
  const int left = task.head_dim - 32 * (kVectors - 1);
  const __mmask32 tail = left >= 32 ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
  // Rows of o have whole vectors of 16 f32, so o may lack the upper 16 of the last bf16 vector's 32
  // dimensions.
  const auto has_high = [&](int c) { return !kHasTail || c + 1 < kVectors || left > 16; };
  const auto load = [&](const char* row, int c) {
    if (kHasTail && c + 1 == kVectors) return _mm512_maskz_loadu_epi16(tail, row + 64 * c);
    return _mm512_loadu_si512(row + 64 * c);
  };
  const auto* p = static_cast<const uint32_t*>(scratch.p);
  const __m512 corr = _mm512_set1_ps(scratch.corr[0]);
  __m512 low[kVectors], high[kVectors];
#pragma GCC unroll 8
  for (int c = 0; c < kVectors; ++c) {
    const float* o = scratch.o + 32 * c;
    low[c] = _mm512_mul_ps(_mm512_load_ps(o), corr);
    high[c] = has_high(c) ? _mm512_mul_ps(_mm512_load_ps(o + 16), corr) : _mm512_setzero_ps();
    to_unpacked(low[c], high[c]);
  }
  const Ahead distance = groups_ahead(scratch.fetch, 64 * kVectors, 1);
  for (int group = 0; group < scratch.groups; ++group) {
    const char* rows = scratch.values.group(group);
    const FetchAhead ahead = scratch.fetch_from_values(group, distance);
#pragma GCC unroll 4
    for (int pair = 0; pair < kRowGroup / 2; ++pair) {
      const size_t a = static_cast<size_t>(2 * pair) * row_bytes, b = a + row_bytes;
      const __m512bh weight =
          as_bh(_mm512_set1_epi32(static_cast<int>(p[group * kRowGroup / 2 + pair])));
#pragma GCC unroll 8
      for (int c = 0; c < kVectors; ++c) {
        const __m512i va = load(rows + a, c), vb = load(rows + b, c);
        ahead.line<kFetch>(a + static_cast<size_t>(64 * c));
        ahead.line<kFetch>(b + static_cast<size_t>(64 * c));
        low[c] = _mm512_dpbf16_ps(low[c], weight, as_bh(_mm512_unpacklo_epi16(va, vb)));
        high[c] = _mm512_dpbf16_ps(high[c], weight, as_bh(_mm512_unpackhi_epi16(va, vb)));
      }
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < kVectors; ++c) {
    from_unpacked(low[c], high[c]);
    _mm512_store_ps(scratch.o + 32 * c, low[c]);
    if (has_high(c)) _mm512_store_ps(scratch.o + 32 * c + 16, high[c]);
  }
}

// Most vectors of dimensions whose sums for `lanes` lanes fit into registers.
constexpr int most_vectors(int lanes) { return lanes <= 3 ? 4 : lanes <= 6 ? 2 : 1; }

// For several lanes: o = o * corr + p v for kVectors vectors from `vector` on, over groups [group,
// end). With kHasTail the last vector is partly used. Only the first groups of a tile multiply o
// with corr.
template <int kLanes, int kVectors, bool kHasTail>
[[gnu::noinline]] void value_lanes(const AttentionTask& task, const TileScratch& scratch,
                                   int vector, int group, int end, Ahead distance) {
  const size_t row_bytes = scratch.values.row_bytes;
  const int left = task.head_dim - 32 * (vector + kVectors - 1);
  const __mmask32 tail = left >= 32 ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
  const auto has_high = [&](int c) { return !kHasTail || c + 1 < kVectors || left > 16; };
  const auto load = [&](const char* row, int c) {
    if (kHasTail && c + 1 == kVectors) return _mm512_maskz_loadu_epi16(tail, row + 64 * c);
    return _mm512_loadu_si512(row + 64 * c);
  };
  const auto o_of = [&](int lane, int c) {
    return scratch.o + lane * scratch.padded_dim + 32 * (vector + c);
  };
  const auto* p = static_cast<const uint32_t*>(scratch.p);
  __m512 low[kLanes][kVectors], high[kLanes][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kLanes; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c) {
      const __m512 corr = _mm512_set1_ps(group == 0 ? scratch.corr[r] : 1.0f);
      low[r][c] = _mm512_mul_ps(_mm512_load_ps(o_of(r, c)), corr);
      high[r][c] =
          has_high(c) ? _mm512_mul_ps(_mm512_load_ps(o_of(r, c) + 16), corr) : _mm512_setzero_ps();
      to_unpacked(low[r][c], high[r][c]);
    }
  for (; group < end; ++group) {
    const char* rows = scratch.values.group(group) + 64 * vector;
    const FetchAhead ahead = scratch.fetch_from_values(group, distance);
#pragma GCC unroll 1
    for (int pair = 0; pair < kRowGroup / 2; ++pair) {
      const size_t a = static_cast<size_t>(2 * pair) * row_bytes, b = a + row_bytes;
      __m512bh values[2 * kVectors];
#pragma GCC unroll 4
      for (int c = 0; c < kVectors; ++c) {
        const __m512i va = load(rows + a, c), vb = load(rows + b, c);
        ahead.line(a + static_cast<size_t>(64 * (vector + c)));
        ahead.line(b + static_cast<size_t>(64 * (vector + c)));
        values[2 * c] = as_bh(_mm512_unpacklo_epi16(va, vb));
        values[2 * c + 1] = as_bh(_mm512_unpackhi_epi16(va, vb));
      }
#pragma GCC unroll 8
      for (int r = 0; r < kLanes; ++r) {
        const __m512bh weight = as_bh(_mm512_set1_epi32(
            static_cast<int>(p[r * (kKeyTile / 2) + group * kRowGroup / 2 + pair])));
#pragma GCC unroll 4
        for (int c = 0; c < kVectors; ++c) {
          low[r][c] = _mm512_dpbf16_ps(low[r][c], weight, values[2 * c]);
          high[r][c] = _mm512_dpbf16_ps(high[r][c], weight, values[2 * c + 1]);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kLanes; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c) {
      from_unpacked(low[r][c], high[r][c]);
      _mm512_store_ps(o_of(r, c), low[r][c]);
      if (has_high(c)) _mm512_store_ps(o_of(r, c) + 16, high[r][c]);
    }
}

// For several lanes: adds all vectors of values, a few groups of rows at a time. The groups stay in
// L1 from one vector to the next.
template <int kLanes>
void add_lanes(const AttentionTask& task, const TileScratch& scratch) {
  const int vectors = (task.head_dim + 31) / 32, whole = task.head_dim / 32;
  const int step = step_groups(64 * vectors);
  const Ahead ahead = groups_ahead(scratch.fetch, 64 * vectors, kLanes);
  for (int group = 0; group < scratch.groups; group += step) {
    const int end = std::min(group + step, scratch.groups);
    int vector = 0;
    if constexpr (most_vectors(kLanes) >= 4)
      for (; vector + 4 <= whole; vector += 4)
        value_lanes<kLanes, 4, false>(task, scratch, vector, group, end, ahead);
    if constexpr (most_vectors(kLanes) >= 2)
      for (; vector + 2 <= whole; vector += 2)
        value_lanes<kLanes, 2, false>(task, scratch, vector, group, end, ahead);
    for (; vector < vectors; ++vector)
      value_lanes<kLanes, 1, true>(task, scratch, vector, group, end, ahead);
  }
}

void add_values(const AttentionTask& task, const TileScratch& scratch) {
  if (task.unit_lanes() == 1)
    return with_vectors(task.head_dim, [&](auto vectors, auto has_tail) {
      with_setting(scratch.fetch, [&](auto fetch) {
        value_row<decltype(vectors)::value, decltype(has_tail)::value, decltype(fetch)::value>(
            task, scratch);
      });
    });
  with_constant<1, 2, 3, 4, 5, 6, 7, 8>(task.unit_lanes(), [&](auto lanes) {
    if constexpr (decltype(lanes)::value > 1) add_lanes<decltype(lanes)::value>(task, scratch);
  });
}

}  // namespace

void attention_few_avx512_bf16(const AttentionTask& task, void* memory) {
  TileScratch scratch(memory, task.head_dim);
  scratch.fetch = task.fetch;
  pack_queries(task, scratch);
  const size_t q_bytes = static_cast<size_t>(words_of(task.head_dim)) * 4;
  visit_unit_tiles(task, scratch, /*each_unit=*/false, [&](int first, int keys, bool is_regular) {
    if (is_regular && task.units_together() > 1)
      return visit_runs(
          task, scratch, q_bytes, first, keys, /*spread=*/0,
          RunStages{
              .score = [&](const TileScratch& lanes, int count) { score_rows(task, lanes, count); },
              .weigh = [&](const TileScratch& lanes) { softmax_rows(task, lanes, first, keys); },
              .add = [&](const TileScratch& lanes, int) { add_values(task, lanes); }});
    visit_units(
        task, scratch, q_bytes, first, keys, is_regular,
        [&](int unit) { gather_rows(task, scratch, first, keys, kKeyTile, unit); },
        [&](const TileScratch& lanes) {
          score_rows(task, lanes, keys);
          softmax_rows(task, lanes, first, keys);
          add_values(task, lanes);
        });
  });
  store_results(task, scratch);
}

}  // namespace reprise::kernels::cpu

#pragma GCC pop_options
