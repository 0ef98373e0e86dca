// The linear layer: y = x W^T + bias.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/dtype.h"
#include "core/device/buffer.h"
#include "core/device/context.h"
#include "core/kernels/linear/weight.h"

namespace reprise::kernels {

namespace cpu {
class ProductCache;
}

// Memory that linear layers reuse: oneDNN's primitives, tiles and scratchpads, expanded codes, and
// inputs copied to the form that a kernel takes. Each of several concurrent calls needs a workspace
// of its own.
struct LinearWorkspace {
  LinearWorkspace();
  ~LinearWorkspace();

  AlignedBuffer padded_input;
  std::vector<AlignedBuffer> tiles;     // [workers]  a tile of a product, and a scratchpad
  std::vector<float> input_sums;        // sums of each group of inputs that share a scale
  std::vector<AlignedBuffer> expanded;  // [workers]  panels of codes expanded to plain weights
  std::unique_ptr<cpu::ProductCache> products;  // by shape; layers share them
};

// One application of a linear layer.
//   x     [m, cols]   the weight's input_dtype(), row-major
//   bias  [rows] f32, or null
//   out   [m, rows]   f32 or bf16, row-major; with `accumulate` (f32 only), the result is added
struct LinearCall {
  const void* x = nullptr;
  int64_t m = 0;
  const float* bias = nullptr;
  void* out = nullptr;
  DType out_dtype = DType::kF32;
  bool accumulate = false;

  // Computes y. Sums accumulate in f32. With m <= kStreamedRows, or m <= 64 for bf16 on
  // AVX512-BF16, the kernels in cpu/ stream the weights. In bf16 with AMX, these kernels multiply
  // any m > 1 in AMX's tiles. Otherwise larger m use oneDNN's product, tile by tile; or the kernels
  // in cpu/ if oneDNN has no fast product for this processor (bf16 without AVX512-BF16, and f32
  // without AVX-512). Results do not depend on the number of threads. A row's bits do not depend on
  // m if the kernels in cpu/ compute in f32 with plain weights (with codes up to m = kCodedRows),
  // or with AMX if m > 1; oneDNN does not promise this.
  // With a batch-invariant context a row's bits never depend on m: one of the kernels in cpu/ takes
  // any m (in bf16 the kernel for many rows, in AMX's tiles also for m = 1), and codes are never
  // expanded.
  //   Codes: with m <= kCodedRows, or m <= kManyCodedRows for bf16 on AVX512-BF16 without AMX, rows
  // are multiplied with the codes as they are read, and a group's sum is then multiplied with the
  // group's scale (in bf16, NF4's quantiles are rounded). For larger m, panels are expanded to
  // plain weights, rounded to the input dtype, which stay in a core's caches while all rows are
  // multiplied with them.
  void run(const WeightRows& w, LinearWorkspace& workspace, const Context& context) const;

  static constexpr int64_t kStreamedRows = 4;
  // Most rows that are multiplied with codes as they are read: kManyCodedRows for bf16 on
  // AVX512-BF16 without AMX, else kCodedRows. Up to kManyCodedRows rows, decoding takes a few per
  // cent of the time, and the product in cpu/ is as fast as oneDNN's; with more rows, expanding is
  // faster. (One core of an AMD EPYC with AVX512-BF16, matrix [4096, 4096], 128 rows: from codes
  // the product takes 1.04 times as long as with plain bf16 weights, with expanded codes 1.10
  // times.)
  static constexpr int64_t kCodedRows = 8, kManyCodedRows = 128;
};

}  // namespace reprise::kernels
