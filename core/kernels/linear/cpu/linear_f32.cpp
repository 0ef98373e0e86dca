// Multiplies input rows with one panel in f32 arithmetic, for every instruction set and both weight
// dtypes.
//
// A few rows are multiplied with weights that are read directly from the panel. Many rows are
// multiplied with one part of the panel after another. Usually a part is copied to f32 and stays in
// the L1. f32 weights on AVX-512 already have the copy's layout: there a part is read from the
// panel and stays in the L2. Each output has a single sum, to which products are added in the order
// of the inputs, so a row's bits do not depend on the number of rows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/linear/cpu/linear_f32.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "core/base/constant.h"
#include "core/kernels/linear/cpu/linear_panel-inl.h"
#include "core/kernels/linear/cpu/linear_task.h"
#include "core/kernels/shared/cpu/bf16_words-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// ---- a few rows ----

// Most rows that are multiplied with weights read directly from the panel (kStreamedRows), and rows
// of a block (kBlockRows). Each block widens the weights again, which costs little compared with
// the products of four rows.
constexpr int kStreamedRows = 12, kBlockRows = 4;
// Outputs of a block of sums. The sums of six rows fill the registers.
constexpr int kBlockVectors = kAccumulators / kLinearRows;
constexpr int kBlockOutputs = kBlockVectors * kN;
constexpr int64_t kRowBytes = kOutputs * int64_t{sizeof(float)};
// If a slice has fewer outputs than the panel, the slices take turns: each multiplies the same
// kTurnWords words, which stay in L1, before the next words follow.
constexpr int64_t kTurnWords = 32;
constexpr int64_t kTurnBytes = kTurnWords * kRowBytes;

// A product of words [begin, end) of a panel with the rows from `row` on, for a slice of the
// outputs, which begins at `column`.
struct Slice {
  int64_t begin, end;
  int row, column;
};

template <int kRows, int kVectors, bool kBf16, int kLocality>
HWY_INLINE void stream_slice(const LinearTask& task, const Slice& slice, float (*sums)[kOutputs]) {
  constexpr int kTogether = std::min(kVectors, 2);
  const Tag d;
  Vec sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kVectors; ++c)
      sum[r][c] = hn::Load(d, sums[slice.row + r] + slice.column + kN * c);
  const int64_t stride = task.words * (kBf16 ? 2 : 1);
  const auto* w = static_cast<const float*>(task.panel) + slice.column;
  const auto* x = static_cast<const float*>(task.x) + slice.row * stride;
  // Together, the slices of a turn fetch the cache lines of a later turn, in the order of memory.
  constexpr int64_t kSliceBytes = int64_t{kVectors} * kN * sizeof(float);
  const int64_t distance =
      kVectors * kN < kOutputs ? std::max<int64_t>(task.fetch.bytes, kTurnBytes) : task.fetch.bytes;
  const char* ahead = static_cast<const char*>(task.panel) + slice.begin * kRowBytes + distance +
                      (slice.end - slice.begin) * slice.column * int64_t{sizeof(float)};
  for (int64_t k = slice.begin; k < slice.end; ++k) {
    fetch_lines<kLocality, std::max<int64_t>(1, kSliceBytes / 64)>(ahead);
    ahead += kSliceBytes;
    for (int c = 0; c < kVectors; c += kTogether) {
      Vec even[kTogether], odd[kTogether];
      for (int i = 0; i < kTogether; ++i) {
        even[i] = hn::Load(d, w + k * kOutputs + kN * (c + i));
        if constexpr (kBf16) {
          odd[i] = odd_of(d, even[i]);
          even[i] = even_of(d, even[i]);
        }
      }
      for (int r = 0; r < kRows; ++r) {
        const float* at = x + r * stride + (kBf16 ? 2 * k : k);
        const Vec first = hn::Set(d, at[0]);
        for (int i = 0; i < kTogether; ++i)
          sum[r][c + i] = hn::MulAdd(first, even[i], sum[r][c + i]);
        if constexpr (kBf16) {
          const Vec second = hn::Set(d, at[1]);
          for (int i = 0; i < kTogether; ++i)
            sum[r][c + i] = hn::MulAdd(second, odd[i], sum[r][c + i]);
        }
      }
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kVectors; ++c)
      hn::Store(sum[r][c], d, sums[slice.row + r] + slice.column + kN * c);
}

// Multiplies 1 to 3 rows, fewer than a block has.
template <int kRows, bool kBf16, int kLocality>
void stream_few(const LinearTask& task) {
  constexpr int kVectors = slice_vectors(kRows), kWidth = kVectors * kN;
  alignas(64) float sums[kRows][kOutputs] = {};
  const int64_t turn = kWidth < kOutputs ? kTurnWords : task.words;
  for (int64_t first = 0; first < task.words; first += turn)
    for (int column = 0; column < kOutputs; column += kWidth)
      stream_slice<kRows, kVectors, kBf16, kLocality>(
          task,
          {.begin = first, .end = std::min(first + turn, task.words), .row = 0, .column = column},
          sums);
  for (int r = 0; r < kRows; ++r) store_row(task, r, sums[r]);
}

// Multiplies blocks of rows; the first block prefetches.
template <bool kBf16, int kLocality>
void stream_blocks(const LinearTask& task) {
  alignas(64) float sums[kStreamedRows][kOutputs] = {};
  const int blocks = (task.rows + kBlockRows - 1) / kBlockRows;
  for (int64_t first = 0; first < task.words; first += kTurnWords)
    for (int column = 0; column < kOutputs; column += kBlockOutputs) {
      Slice slice{.begin = first,
                  .end = std::min(first + kTurnWords, task.words),
                  .row = 0,
                  .column = column};
      for (int left = blocks; left > 0; --left) {
        const int height = (task.rows - slice.row + left - 1) / left;
        with_constant<2, 3, 4>(height, [&](auto rows) {
          constexpr int kRows = decltype(rows)::value;
          if (slice.row == 0) {
            stream_slice<kRows, kBlockVectors, kBf16, kLocality>(task, slice, sums);
          } else {
            stream_slice<kRows, kBlockVectors, kBf16, -1>(task, slice, sums);
          }
        });
        slice.row += height;
      }
    }
  for (int r = 0; r < task.rows; ++r) store_row(task, r, sums[r]);
}

// ---- many rows ----

// Inputs of a part. The part's weights for the outputs of a block take at most 16 KiB, half of a
// small L1.
constexpr int64_t kPartInputs = std::min(256, (16 << 10) / 4 / kBlockOutputs);
// Number of blocks of rows that fetch the next part while they are multiplied. More than
// kStreamedRows rows make at least kFetchBlocks blocks.
constexpr int kFetchBlocks = 2;
constexpr int64_t kFetchInputs = 4;

// Copies inputs [first, end) of a panel as [blocks of outputs][inputs][kBlockOutputs].
template <bool kBf16>
void unpack(const LinearTask& task, int64_t first, int64_t end, float* out) {
  const Tag d;
  constexpr int kPerWord = kBf16 ? 2 : 1;
  for (int64_t k = first / kPerWord; k < end / kPerWord; ++k) {
    const auto* w = static_cast<const float*>(task.panel) + k * kOutputs;
    float* target = out + (k * kPerWord - first) * kBlockOutputs;
    for (int c = 0; c < kOutputs; c += kN) {
      float* at = target + c / kBlockOutputs * kPartInputs * kBlockOutputs + c % kBlockOutputs;
      const Vec values = hn::Load(d, w + c);
      if constexpr (kBf16) {
        hn::Store(even_of(d, values), d, at);
        hn::Store(odd_of(d, values), d, at + kBlockOutputs);
      } else {
        hn::Store(values, d, at);
      }
    }
  }
}

// Adds the products of one input of kRows rows with a block's weights to the sums.
template <int kRows>
HWY_INLINE void multiply_input(const float* HWY_RESTRICT x, int64_t stride,
                               const float* HWY_RESTRICT weights,
                               Vec (&sum)[kRows][kBlockVectors]) {
  const Tag d;
  Vec values[kBlockVectors];
  for (int c = 0; c < kBlockVectors; ++c) values[c] = hn::Load(d, weights + kN * c);
  for (int r = 0; r < kRows; ++r) {
    const Vec value = hn::Set(d, x[r * stride]);
    for (int c = 0; c < kBlockVectors; ++c) sum[r][c] = hn::MulAdd(value, values[c], sum[r][c]);
  }
}

// Adds the products of `inputs` inputs of kRows rows with a block's weights to the block's sums.
// For each kFetchInputs inputs, fetches kLines cache lines from `ahead` on. The loop
// computes four inputs at a time, so that fewer instructions are spent on counting. This matters if
// two threads share a core: each can then issue only half as many instructions as the core.
template <int kRows, int64_t kLines>
HWY_INLINE void multiply_block(const float* HWY_RESTRICT x, int64_t stride,
                               const float* HWY_RESTRICT weights, int64_t inputs,
                               float* HWY_RESTRICT sums, const char* ahead) {
  static_assert(kFetchInputs == 4);
  const Tag d;
  Vec sum[kRows][kBlockVectors];
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kBlockVectors; ++c) sum[r][c] = hn::Load(d, sums + r * kOutputs + kN * c);
  const float* const end = x + inputs;
  do {
    fetch_lines<2, kLines>(ahead);
    ahead += 64 * kLines;
    multiply_input<kRows>(x, stride, weights, sum);
    multiply_input<kRows>(x + 1, stride, weights + kBlockOutputs, sum);
    multiply_input<kRows>(x + 2, stride, weights + 2 * kBlockOutputs, sum);
    multiply_input<kRows>(x + 3, stride, weights + 3 * kBlockOutputs, sum);
    x += kFetchInputs;
    weights += kFetchInputs * kBlockOutputs;
  } while (x < end);
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kBlockVectors; ++c) hn::Store(sum[r][c], d, sums + r * kOutputs + kN * c);
}

// Multiplies all rows with the copied weights of a part. The first kFetchBlocks blocks of rows
// fetch the cache lines of the next part.
template <bool kBf16>
void multiply_part(const LinearTask& task, const float* weights, int64_t first, int64_t end,
                   float* sums) {
  constexpr int64_t kLines = std::max(1, 8 * kBlockOutputs / kOutputs / (kBf16 ? 2 : 1));
  const int64_t stride = task.words * (kBf16 ? 2 : 1);
  const char* ahead = end < stride
                          ? static_cast<const char*>(task.panel) + end / (kBf16 ? 2 : 1) * kRowBytes
                          : static_cast<const char*>(task.next_panel);
  for (int column = 0; column < kOutputs; column += kBlockOutputs) {
    // Blocks have nearly equal numbers of rows, because a block of few rows has too few sums to
    // hide the latency.
    const int blocks = (task.rows + kLinearRows - 1) / kLinearRows;
    for (int row = 0, block = 0; block < blocks; ++block) {
      const int height = (task.rows - row + blocks - block - 1) / (blocks - block);
      const float* x = static_cast<const float*>(task.x) + row * stride + first;
      const float* of_block = weights + column * kPartInputs;
      float* of_rows = sums + row * kOutputs + column;
      with_constant<1, 2, 3, 4, 5, 6>(height, [&](auto rows) {
        constexpr int kRows = decltype(rows)::value;
        if (block < kFetchBlocks) {
          multiply_block<kRows, kLines>(x, stride, of_block, end - first, of_rows, ahead);
          ahead += (end - first) / kFetchInputs * 64 * kLines;
        } else {
          multiply_block<kRows, 0>(x, stride, of_block, end - first, of_rows, ahead);
        }
      });
      row += height;
    }
  }
}

// Calls use(weights, first, end) for each part of the panel's inputs.
template <bool kBf16, typename Use>
void for_parts(const LinearTask& task, Use&& use) {
  const int64_t inputs = task.words * (kBf16 ? 2 : 1);
  if constexpr (!kBf16 && kBlockOutputs == kOutputs) {
    const auto* panel = static_cast<const float*>(task.panel);
    for (int64_t first = 0; first < inputs; first += task.block_words)
      use(panel + first * kOutputs, first, std::min(first + task.block_words, inputs));
  } else {
    alignas(64) float weights[kOutputs * kPartInputs];
    for (int64_t first = 0; first < inputs; first += kPartInputs) {
      const int64_t end = std::min(first + kPartInputs, inputs);
      unpack<kBf16>(task, first, end, weights);
      use(weights, first, end);
    }
  }
}

template <bool kBf16>
void multiply(const LinearTask& task) {
  alignas(64) float sums[kMostRowsF32 * kOutputs];
  std::fill_n(sums, task.rows * kOutputs, 0.0f);
  for_parts<kBf16>(task, [&](const float* weights, int64_t first, int64_t end) {
    multiply_part<kBf16>(task, weights, first, end, sums);
  });
  for (int r = 0; r < task.rows; ++r) store_row(task, r, sums + r * kOutputs);
}

template <bool kBf16>
void take_rows(const LinearTask& task) {
  if (task.rows > kStreamedRows) return multiply<kBf16>(task);
  with_locality(task.fetch, [&](auto locality) {
    constexpr int kLocality = decltype(locality)::value;
    if (task.rows >= kBlockRows) return stream_blocks<kBf16, kLocality>(task);
    with_constant<1, 2, 3>(
        task.rows, [&](auto rows) { stream_few<decltype(rows)::value, kBf16, kLocality>(task); });
  });
}

void LinearPanel(const LinearTask& task) {
  task.dtype == DType::kBF16 ? take_rows<true>(task) : take_rows<false>(task);
}

}  // namespace reprise::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/device/cpu/hwy_dispatch.h"

namespace reprise::kernels::cpu {

HWY_EXPORT(LinearPanel);

void linear_panel_f32(const LinearTask& task, Isa isa) { REPRISE_DISPATCH(LinearPanel, isa)(task); }

}  // namespace reprise::kernels::cpu
#endif
