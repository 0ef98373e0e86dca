// Input rows in bf16 times one panel of codes, with the AVX-512 bf16 dot product.
//
// A step of a panel holds 8 inputs, four pairs, of 64 outputs. A pair becomes four registers of
// bf16 weights, not yet scaled: codes of four bits by a word permutation, which looks at the five
// lowest bits of each word, so that a table which holds the 16 numbers twice needs no mask; bytes
// by widening them to f32, whose upper half is their bf16. Of four bits that is two instructions
// for 32 weights and a shift for three in four of them, which keeps up with memory; arithmetic in
// f32 takes twice as many for 16. (One row, codes in a core's L2, an AMD EPYC with 512-bit units:
// 63 GB/s of codes where memory brings a core 57.)
//   Up to four rows are multiplied as the codes come. Of more, the weights of a run of inputs are
// put into a core's first cache, and row after row is multiplied with them; there bytes go by
// permutations where the processor has them.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/constant.h"
#include "core/kernels/cpu/quantize.h"
#include "core/kernels/cpu/quantized_panel.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma")

#include "core/kernels/cpu/linear_store-inl.h"

namespace reprise::kernels::cpu {
namespace {

constexpr int kVectors = 4;  // of a panel's 64 outputs
constexpr int kPairs = 4;    // of a step's inputs

inline __m512bh as_bh(__m512i bits) { return reinterpret_cast<__m512bh>(bits); }

// Codes of four bits.
class Nibbles {
 public:
  static constexpr int64_t kStepBytes = 4 * 64;

  explicit Nibbles(WeightFormat format) {
    alignas(64) std::array<uint16_t, 32> words;
    const std::array<float, 16>& values = code_values(format);
    for (size_t i = 0; i < words.size(); ++i) words[i] = bf16(values[i % 16]).bits;
    table_ = _mm512_load_si512(words.data());
  }
  void begin(const char* step) {
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c) words_[c] = _mm512_load_si512(step + 64 * c);
  }
  // Of the pairs one after the other.
  __m512i next(int /*pair*/, int c) {
    const __m512i weights = _mm512_permutexvar_epi16(words_[c], table_);
    words_[c] = _mm512_srli_epi16(words_[c], 4);
    return weights;
  }

 private:
  __m512i table_;
  __m512i words_[kVectors];
};

// Codes of eight bits. Integers up to 127 have no more than bf16's eight bits.
class Bytes {
 public:
  static constexpr int64_t kStepBytes = 8 * 64;

  explicit Bytes(WeightFormat) {}
  void begin(const char* step) { step_ = step; }
  __m512i next(int pair, int c) const {
    const char* at = step_ + 2 * pair * 64 + 16 * c;
    return _mm512_or_si512(_mm512_srli_epi32(widened(at), 16), widened(at + 64));
  }

 private:
  static __m512i widened(const char* at) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return _mm512_castps_si512(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)));
  }

  const char* step_ = nullptr;
};

// The scales of a group of 16 outputs from `column` on.
inline __m512 scales_of(const QuantizedPanel& panel, int64_t group, int column) {
  if (panel.scales != nullptr) return _mm512_loadu_ps(panel.scales + group * 64 + column);
  const __m128i bytes =
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(panel.scale_codes + group * 64 + column));
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)),
                         _mm512_set1_ps(panel.scale_steps[group / kScaleBlockGroups]),
                         _mm512_set1_ps(panel.scale_mean));
}

// A group of a panel whose products are summed: what they are multiplied with.
struct Scaling {
  const QuantizedPanel& panel;
  int64_t group;
  const float* x_sums;  // of the first of the rows, of this group; null but in int4
  int64_t x_stride;

  // Of each row, adds scale * sum + minimum * (sum of inputs) to totals, 16 outputs from 16 c on.
  template <int kRows>
  void add(int c, const __m512 (&sum)[kRows], float (*totals)[64]) const {
    const __m512 scale = scales_of(panel, group, 16 * c);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      float* at = totals[r] + 16 * c;
      __m512 total = _mm512_fmadd_ps(scale, sum[r], _mm512_load_ps(at));
      if (x_sums != nullptr)
        total = _mm512_fmadd_ps(_mm512_loadu_ps(panel.minimums + group * 64 + 16 * c),
                                _mm512_set1_ps(x_sums[r * x_stride]), total);
      _mm512_store_ps(at, total);
    }
  }
};

// The weights of a run of steps as dot products take them, [steps * 4][4]; what follows is fetched.
template <typename Codes>
void decode_each(Codes& codes, const char* at, int64_t steps, __m512i* weights) {
  for (int64_t step = 0; step < steps; ++step, at += Codes::kStepBytes) {
    for (int64_t line = 0; line < Codes::kStepBytes; line += 64)
      _mm_prefetch(at + kFetchBytes + line, _MM_HINT_T1);
    codes.begin(at);
#pragma GCC unroll 4
    for (int pair = 0; pair < kPairs; ++pair)
#pragma GCC unroll 4
      for (int c = 0; c < kVectors; ++c) *weights++ = codes.next(pair, c);
  }
}

void decode(Nibbles& codes, const char* at, int64_t steps, __m512i* weights) {
  decode_each(codes, at, steps, weights);
}

void decode(Bytes& codes, const char* at, int64_t steps, __m512i* weights) {
  static const bool has_permutations = __builtin_cpu_supports("avx512vbmi") != 0;
  if (has_permutations) return decode_bytes_avx512_vbmi(at, steps, weights);
  decode_each(codes, at, steps, weights);
}

// With one or two rows, two sets of sums keep enough independent chains in flight to hide the
// latency of the dot product.
template <int kRows>
constexpr int kSets = kRows <= 2 ? 2 : 1;

template <int kRows>
using Sums = __m512[kSets<kRows>][kVectors][kRows];

// Adds the products of one step.
template <int kRows, typename Codes>
inline void multiply_step(Codes& codes, const uint32_t* x, int64_t stride, Sums<kRows>& sum) {
#pragma GCC unroll 4
  for (int pair = 0; pair < kPairs; ++pair) {
    __m512bh weights[kVectors];
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c) weights[c] = as_bh(codes.next(pair, c));
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m512bh inputs = as_bh(_mm512_set1_epi32(static_cast<int>(x[r * stride + pair])));
#pragma GCC unroll 4
      for (int c = 0; c < kVectors; ++c) {
        __m512& to = sum[pair % kSets<kRows>][c][r];
        to = _mm512_dpbf16_ps(to, weights[c], inputs);
      }
    }
  }
}

template <int kRows>
inline void set_zero(Sums<kRows>& sum) {
  for (auto& set : sum)
    for (auto& column : set)
      for (__m512& s : column) s = _mm512_setzero_ps();
}

// Adds the sums of a group to those of the panel.
template <int kRows>
inline void add_group(const Scaling& scaling, Sums<kRows>& sum, float (*totals)[64]) {
#pragma GCC unroll 4
  for (int c = 0; c < kVectors; ++c) {
    if constexpr (kSets<kRows> == 2)
      for (int r = 0; r < kRows; ++r) sum[0][c][r] = _mm512_add_ps(sum[0][c][r], sum[1][c][r]);
    scaling.add<kRows>(c, sum[0][c], totals);
  }
}

inline Scaling scaling_of(const QuantizedTask& task, int64_t group, int64_t groups) {
  return {.panel = task.panel,
          .group = group,
          .x_sums = task.x_sums != nullptr ? task.x_sums + group : nullptr,
          .x_stride = groups};
}

// As the codes come.
template <int kRows, typename Codes>
void stream(const QuantizedTask& task) {
  const QuantizedPanel& panel = task.panel;
  Codes codes(panel.format);
  const char* at = static_cast<const char*>(panel.codes);
  const auto* x = static_cast<const uint32_t*>(task.linear.x);
  const int64_t stride = panel.steps * kPairs, groups = panel.groups();
  alignas(64) float totals[kRows][64] = {};
  int64_t step = 0;
  for (int64_t group = 0; group < groups; ++group) {
    Sums<kRows> sum;
    set_zero<kRows>(sum);
    for (const int64_t end = std::min(step + panel.group_steps, panel.steps); step < end; ++step) {
#pragma GCC unroll 8
      for (int64_t line = 0; line < Codes::kStepBytes; line += 64)
        _mm_prefetch(at + kFetchBytes + line, _MM_HINT_T0);
      codes.begin(at);
      multiply_step<kRows>(codes, x + step * kPairs, stride, sum);
      at += Codes::kStepBytes;
    }
    add_group<kRows>(scaling_of(task, group, groups), sum, totals);
  }
  for (int r = 0; r < kRows; ++r) store_row(task.linear, r, totals[r]);
}

// A run of inputs whose weights lie in the first cache: at most 128, of one group.
constexpr int64_t kRunSteps = 16;

struct Run {
  const __m512i* weights;  // [steps * 4][4]
  int64_t words;           // steps * 4
  const uint32_t* x;       // [rows][...], the run's first word
  int64_t x_stride;        // words
  bool is_first, is_last;  // of its group
};

// kRows rows of a run. Between the runs of a group, sums are kept in `sums`.
template <int kRows>
void multiply_run(const Run& run, const Scaling& scaling, float (*sums)[64], float (*totals)[64]) {
  __m512 sum[kVectors][kRows];
#pragma GCC unroll 4
  for (int c = 0; c < kVectors; ++c)
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r)
      sum[c][r] = run.is_first ? _mm512_setzero_ps() : _mm512_load_ps(sums[r] + 16 * c);
  for (int64_t k = 0; k < run.words; ++k) {
    __m512bh weights[kVectors];
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c) weights[c] = as_bh(run.weights[k * kVectors + c]);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const __m512bh inputs =
          as_bh(_mm512_set1_epi32(static_cast<int>(run.x[r * run.x_stride + k])));
#pragma GCC unroll 4
      for (int c = 0; c < kVectors; ++c)
        sum[c][r] = _mm512_dpbf16_ps(sum[c][r], weights[c], inputs);
    }
  }
#pragma GCC unroll 4
  for (int c = 0; c < kVectors; ++c) {
    if (run.is_last) {
      scaling.add<kRows>(c, sum[c], totals);
      continue;
    }
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) _mm512_store_ps(sums[r] + 16 * c, sum[c][r]);
  }
}

// All rows of a run, in groups of nearly equal size.
void multiply_rows(Run run, Scaling scaling, int rows, float (*sums)[64], float (*totals)[64]) {
  const int groups = (rows + kLinearRows - 1) / kLinearRows;
  for (int g = 0; g < groups; ++g) {
    const int of_group = rows / groups + (g < rows % groups ? 1 : 0);
    with_constant<1, 2, 3, 4, 5, 6>(
        of_group, [&](auto n) { multiply_run<decltype(n)::value>(run, scaling, sums, totals); });
    run.x += of_group * run.x_stride;
    if (scaling.x_sums != nullptr) scaling.x_sums += of_group * scaling.x_stride;
    sums += of_group;
    totals += of_group;
  }
}

// Through the first cache.
template <typename Codes>
void stage(const QuantizedTask& task) {
  const QuantizedPanel& panel = task.panel;
  Codes codes(panel.format);
  const char* at = static_cast<const char*>(panel.codes);
  const auto* x = static_cast<const uint32_t*>(task.linear.x);
  const int64_t stride = panel.steps * kPairs, groups = panel.groups();
  const int rows = task.linear.rows;
  __m512i weights[kRunSteps * kPairs * kVectors];
  alignas(64) float totals[kManyLinearRows][64];
  alignas(64) float sums[kManyLinearRows][64];
  std::memset(totals, 0, static_cast<size_t>(rows) * sizeof(totals[0]));
  int64_t step = 0;
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t first = step, end = std::min(first + panel.group_steps, panel.steps);
    while (step < end) {
      const int64_t steps = std::min(kRunSteps, end - step);
      decode(codes, at, steps, weights);
      at += steps * Codes::kStepBytes;
      multiply_rows({.weights = weights,
                     .words = steps * kPairs,
                     .x = x + step * kPairs,
                     .x_stride = stride,
                     .is_first = step == first,
                     .is_last = step + steps == end},
                    scaling_of(task, group, groups), rows, sums, totals);
      step += steps;
    }
  }
  for (int r = 0; r < rows; ++r) store_row(task.linear, r, totals[r]);
}

template <typename Codes>
void multiply(const QuantizedTask& task) {
  if (task.linear.rows > LinearCall::kStreamedRows) return stage<Codes>(task);
  with_constant<1, 2, 3, 4>(task.linear.rows,
                            [&](auto rows) { stream<decltype(rows)::value, Codes>(task); });
}

}  // namespace

void quantized_panel_avx512_bf16(const QuantizedTask& task) {
  if (task.panel.format == WeightFormat::kInt8) {
    multiply<Bytes>(task);
  } else {
    multiply<Nibbles>(task);
  }
}

}  // namespace reprise::kernels::cpu

#pragma GCC pop_options
