// Multiplies bf16 input rows with one panel of codes, with the AVX-512 bf16 dot product.
//
// A step of a panel has 8 inputs (four pairs) of 64 outputs. A pair becomes four registers of
// unscaled bf16 weights. Four-bit codes are looked up by a word permutation, which uses the five
// lowest bits of each word; the table holds the 16 numbers twice, so no mask is needed. Bytes are
// widened to f32, whose upper half is their bf16. Four-bit codes take two instructions for 32
// weights, and a shift for three of the four pairs, which keeps up with memory; f32 arithmetic
// takes twice as many instructions for 16 weights. (One row, codes in a core's L2, an AMD EPYC with
// 512-bit units: 63 GB/s of codes, while memory brings 57 to a core.)
//   Up to four rows are multiplied as the codes are read. With more rows, the weights of a run of
// inputs are written to L1, and row after row is multiplied with them. Four-bit codes are decoded
// while the first rows are multiplied with the previous run, in time that the dot products leave;
// bytes are decoded by permutations if the processor has them. (Cycles relative to plain bf16
// weights, all in a core's L2, an AMD EPYC of family 26, by rows:
//   rows                       12    16    32    64
//   four bits, one by one    1.27  1.23  1.14  1.10
//             meanwhile      1.13  1.12  1.09  1.08
//   bytes through f32        1.32  1.25  1.13  1.08
//         by permutations    1.24  1.19  1.10  1.05)
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/constant.h"
#include "core/kernels/linear/cpu/quantized_panel.h"
#include "core/kernels/linear/quantize.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma")

#include "core/kernels/linear/cpu/linear_store-inl.h"

namespace reprise::kernels::cpu {
namespace {

constexpr int kVectors = 4;  // of a panel's 64 outputs
constexpr int kPairs = 4;    // of a step's inputs

inline __m512bh as_bh(__m512i bits) { return reinterpret_cast<__m512bh>(bits); }

// Four-bit codes.
class Nibbles {
 public:
  // True: a run of kRunSteps steps is decoded while rows are multiplied with the previous one.
  static constexpr bool kDecodesMeanwhile = true;
  static constexpr int64_t kRunSteps = 16;
  static constexpr int64_t kStepBytes = 4 * 64;

  explicit Nibbles(WeightFormat format) {
    alignas(64) std::array<uint16_t, 32> words;
    const std::array<float, 16>& values = code_values(format);
    for (size_t i = 0; i < words.size(); ++i) words[i] = bf16(values[i % 16]).bits;
    table_ = _mm512_load_si512(words.data());
  }
  // Loads the words of a step. next() then returns the step's pairs one after the other and shifts
  // the words in registers. (With three rows, this is a third faster than loading the words again
  // for each pair.)
  void begin(const char* step) {
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c) words_[c] = _mm512_load_si512(step + 64 * c);
  }
  __m512i next(int /*pair*/, int c) {
    const __m512i weights = _mm512_permutexvar_epi16(words_[c], table_);
    words_[c] = _mm512_srli_epi16(words_[c], 4);
    return weights;
  }
  // Returns the weights of pair `pair` of a step's inputs for outputs 16 c to 16 c + 15.
  [[nodiscard]] __m512i weight(const char* step, int pair, int c) const {
    __m512i words = _mm512_load_si512(step + 64 * c);
    if (pair > 0) words = _mm512_srli_epi16(words, static_cast<unsigned>(4 * pair));
    return _mm512_permutexvar_epi16(words, table_);
  }
  // Decodes the weights of a pair for all outputs: four vectors.
  void decode_pair(const char* step, int pair, __m512i* weights) const {
    _mm_prefetch(step + kFetchBytes + 64 * pair, _MM_HINT_T1);
#pragma GCC unroll 4
    for (int c = 0; c < kVectors; ++c) weights[c] = weight(step, pair, c);
  }
  // Decodes steps to weights [steps][4][4], and prefetches the codes that follow.
  void decode(const char* at, int64_t steps, __m512i* weights) const {
    for (int64_t step = 0; step < steps; ++step, at += kStepBytes)
#pragma GCC unroll 4
      for (int pair = 0; pair < kPairs; ++pair, weights += kVectors) decode_pair(at, pair, weights);
  }

 private:
  __m512i table_;
  __m512i words_[kVectors];
};

// Eight-bit codes. Integers up to 127 need no more than bf16's eight bits of precision.
class Bytes {
 public:
  static constexpr bool kDecodesMeanwhile = false;  // byte permutations would lack registers
  static constexpr int64_t kRunSteps = 24;
  static constexpr int64_t kStepBytes = 8 * 64;

  explicit Bytes(WeightFormat) {}
  void begin(const char* step) { step_ = step; }
  __m512i next(int pair, int c) const { return weight(step_, pair, c); }
  [[nodiscard]] static __m512i weight(const char* step, int pair, int c) {
    const char* at = step + 2 * pair * 64 + 16 * c;
    return _mm512_or_si512(_mm512_srli_epi32(widened(at), 16), widened(at + 64));
  }
  static void decode(const char* at, int64_t steps, __m512i* weights) {
    static const bool has_permutations = __builtin_cpu_supports("avx512vbmi") != 0;
    if (has_permutations) return decode_bytes_avx512_vbmi(at, steps, weights);
    for (int64_t pair = 0; pair < steps * kPairs; ++pair, at += 128)
      for (int c = 0; c < kVectors; ++c) *weights++ = weight(at, 0, c);
  }

 private:
  static __m512i widened(const char* at) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return _mm512_castps_si512(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)));
  }

  const char* step_ = nullptr;
};

// The scales of a group for the 16 outputs from `column` on.
inline __m512 scales_of(const QuantizedPanel& panel, int64_t group, int column) {
  if (panel.scales != nullptr) return _mm512_loadu_ps(panel.scales + group * 64 + column);
  const __m128i bytes =
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(panel.scale_codes + group * 64 + column));
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)),
                         _mm512_set1_ps(panel.scale_steps[group / kScaleBlockGroups]),
                         _mm512_set1_ps(panel.scale_mean));
}

// Applies the scales and minimums of a group to the group's summed products.
struct Scaling {
  const QuantizedPanel& panel;
  int64_t group;
  const float* x_sums;  // of the first row and this group; null except in int4
  int64_t x_stride;

  // For each row and the 16 outputs from output 16 c on, adds scale * sum + minimum * (sum of the
  // group's inputs) to `totals`.
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

// Scales the sums of a group and adds them to the panel's sums, `totals`.
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

// Multiplies rows with codes that are decoded as they are read.
template <int kRows, typename Codes, int kLocality>
void stream(const QuantizedTask& task) {
  const QuantizedPanel& panel = task.panel;
  Codes codes(panel.format);
  const char* at = static_cast<const char*>(panel.codes);
  const auto* x = static_cast<const uint32_t*>(task.linear.x);
  const int64_t stride = panel.steps * kPairs, groups = panel.groups();
  const int64_t bytes_ahead = task.linear.fetch.bytes;
  alignas(64) float totals[kRows][64] = {};
  int64_t step = 0;
  for (int64_t group = 0; group < groups; ++group) {
    Sums<kRows> sum;
    set_zero<kRows>(sum);
    for (const int64_t end = std::min(step + panel.group_steps, panel.steps); step < end; ++step) {
      fetch_lines<kLocality, Codes::kStepBytes / 64>(at + bytes_ahead);
      codes.begin(at);
      multiply_step<kRows>(codes, x + step * kPairs, stride, sum);
      at += Codes::kStepBytes;
    }
    add_group<kRows>(scaling_of(task, group, groups), sum, totals);
  }
  for (int r = 0; r < kRows; ++r) store_row(task.linear, r, totals[r]);
}

// A run: consecutive steps of one group, whose decoded weights are in L1.
struct Run {
  int64_t group = 0, first_step = 0, steps = 0;
  bool is_first = false, is_last = false;  // first or last run of its group

  [[nodiscard]] int64_t end_step() const { return first_step + steps; }
};

// Returns the run of at most `most` steps that begins at `step`. It has no steps if `step` is the
// panel's end.
Run run_at(const QuantizedPanel& panel, int64_t step, int64_t most) {
  const int64_t group = step / panel.group_steps, first = group * panel.group_steps;
  const int64_t end = std::min(first + panel.group_steps, panel.steps);
  const int64_t steps = std::clamp<int64_t>(end - step, 0, most);
  return {.group = group,
          .first_step = step,
          .steps = steps,
          .is_first = step == first,
          .is_last = step + steps == end};
}

// A run whose codes are being decoded.
template <typename Codes>
struct Decoding {
  const Codes& codes;
  const char* at;
  __m512i* weights;
  int64_t steps;

  void decode_pair(int64_t step, int pair) const {
    codes.decode_pair(at + step * Codes::kStepBytes, pair,
                      weights + (step * kPairs + pair) * kVectors);
  }
  void decode_from(int64_t step) const {
    if (step < steps)
      codes.decode(at + step * Codes::kStepBytes, steps - step, weights + step * kPairs * kVectors);
  }
};

// The rows that are multiplied with a run.
struct RunRows {
  const __m512i* weights;  // [steps * 4][4]
  const uint32_t* x;       // [rows][...], the run's first word
  int64_t x_stride;        // words
  Scaling scaling;
  float (*sums)[64];  // sums kept between the runs of a group
  float (*totals)[64];

  void pass(int rows) {
    x += rows * x_stride;
    if (scaling.x_sums != nullptr) scaling.x_sums += rows * scaling.x_stride;
    sums += rows;
    totals += rows;
  }
};

template <int kRows>
inline void begin_run(const Run& run, const RunRows& rows, __m512 (&sum)[kVectors][kRows]) {
#pragma GCC unroll 4
  for (int c = 0; c < kVectors; ++c)
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r)
      sum[c][r] = run.is_first ? _mm512_setzero_ps() : _mm512_load_ps(rows.sums[r] + 16 * c);
}

template <int kRows>
inline void end_run(const Run& run, const RunRows& rows, const __m512 (&sum)[kVectors][kRows]) {
#pragma GCC unroll 4
  for (int c = 0; c < kVectors; ++c) {
    if (run.is_last) {
      rows.scaling.template add<kRows>(c, sum[c], rows.totals);
      continue;
    }
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) _mm512_store_ps(rows.sums[r] + 16 * c, sum[c][r]);
  }
}

// Multiplies kRows rows with a run. With kDecodes, also decodes the next run. The instructions for
// this stand between the dot products, which leave time for them.
template <int kRows, bool kDecodes, typename Codes>
void multiply_run(const Run& run, const RunRows& rows, const Decoding<Codes>& ahead) {
  __m512 sum[kVectors][kRows];
  begin_run<kRows>(run, rows, sum);
  const __m512i* at = rows.weights;
  const uint32_t* x = rows.x;
  for (int64_t step = 0; step < run.steps; ++step, x += kPairs) {
#pragma GCC unroll 4
    for (int pair = 0; pair < kPairs; ++pair, at += kVectors) {
      __m512bh weights[kVectors];
#pragma GCC unroll 4
      for (int c = 0; c < kVectors; ++c) weights[c] = as_bh(at[c]);
      if constexpr (kDecodes) ahead.decode_pair(step, pair);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        const __m512bh inputs =
            as_bh(_mm512_set1_epi32(static_cast<int>(x[r * rows.x_stride + pair])));
#pragma GCC unroll 4
        for (int c = 0; c < kVectors; ++c)
          sum[c][r] = _mm512_dpbf16_ps(sum[c][r], weights[c], inputs);
      }
    }
  }
  end_run<kRows>(run, rows, sum);
}

// Multiplies all rows with a run, in groups of nearly equal size. The next run is decoded while the
// first group is multiplied.
template <typename Codes>
void multiply_rows(const Run& run, RunRows rows, int count, const Decoding<Codes>& ahead) {
  const int groups = (count + kLinearRows - 1) / kLinearRows;
  const bool decodes = Codes::kDecodesMeanwhile && ahead.steps >= run.steps;
  for (int g = 0; g < groups; ++g) {
    const int of_group = count / groups + (g < count % groups ? 1 : 0);
    with_constant<1, 2, 3, 4, 5, 6>(of_group, [&](auto n) {
      constexpr int kRows = decltype(n)::value;
      if (g == 0 && decodes) return multiply_run<kRows, Codes::kDecodesMeanwhile>(run, rows, ahead);
      multiply_run<kRows, false>(run, rows, ahead);
    });
    rows.pass(of_group);
  }
  ahead.decode_from(decodes ? run.steps : 0);
}

// Multiplies rows with weights that are decoded to a buffer in L1, one run after the other.
template <typename Codes>
void stage(const QuantizedTask& task) {
  const QuantizedPanel& panel = task.panel;
  const Codes codes(panel.format);
  const auto* x = static_cast<const uint32_t*>(task.linear.x);
  const int64_t stride = panel.steps * kPairs, groups = panel.groups();
  const int rows = task.linear.rows;
  constexpr bool kMeanwhile = Codes::kDecodesMeanwhile;
  __m512i weights[kMeanwhile ? 2 : 1][Codes::kRunSteps * kPairs * kVectors];
  alignas(64) float totals[kMostCodedRows][64];
  alignas(64) float sums[kMostCodedRows][64];
  std::memset(totals, 0, static_cast<size_t>(rows) * sizeof(totals[0]));
  const auto decoding = [&](const Run& run, __m512i* to) {
    const char* at = static_cast<const char*>(panel.codes) + run.first_step * Codes::kStepBytes;
    return Decoding<Codes>{.codes = codes, .at = at, .weights = to, .steps = run.steps};
  };
  Run run = run_at(panel, 0, Codes::kRunSteps), next;
  for (int turn = 0; run.steps > 0; run = next) {
    next = run_at(panel, run.end_step(), Codes::kRunSteps);
    if (run.first_step == 0 || !kMeanwhile) decoding(run, weights[turn]).decode_from(0);
    const int other = kMeanwhile ? 1 - turn : 0;
    multiply_rows(run,
                  {.weights = weights[turn],
                   .x = x + run.first_step * kPairs,
                   .x_stride = stride,
                   .scaling = scaling_of(task, run.group, groups),
                   .sums = sums,
                   .totals = totals},
                  rows, decoding(kMeanwhile ? next : Run{}, weights[other]));
    turn = other;
  }
  for (int r = 0; r < rows; ++r) store_row(task.linear, r, totals[r]);
}

template <typename Codes>
void multiply(const QuantizedTask& task) {
  if (task.is_staged || task.linear.rows > LinearCall::kStreamedRows) return stage<Codes>(task);
  with_locality(task.linear.fetch, [&](auto locality) {
    with_constant<1, 2, 3, 4>(task.linear.rows, [&](auto rows) {
      stream<decltype(rows)::value, Codes, decltype(locality)::value>(task);
    });
  });
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
