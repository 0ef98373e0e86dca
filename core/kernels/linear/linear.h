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

// Reused memory of linear layers: the product library's primitives, tiles and scratchpads, and
// padded copies of small inputs. One at a time: calls that run at once need one each.
struct LinearWorkspace {
  LinearWorkspace();
  ~LinearWorkspace();

  AlignedBuffer padded_input;
  std::vector<AlignedBuffer> tiles;             // of each worker: a tile of a product, a scratchpad
  std::vector<float> input_sums;                // of each group of inputs that share a scale
  std::vector<AlignedBuffer> expanded;          // of each worker: panels of codes as plain weights
  std::unique_ptr<cpu::ProductCache> products;  // of all shapes, whichever layer's
};

// One application of a linear layer.
//   x     [m, cols]   the weight's input_dtype(), row-major
//   bias  [rows] f32, or null
//   out   [m, rows]   f32 or bf16, row-major; with `accumulate` (f32 only) the product is added to
//   it
struct LinearCall {
  const void* x = nullptr;
  int64_t m = 0;
  const float* bias = nullptr;
  void* out = nullptr;
  DType out_dtype = DType::kF32;
  bool accumulate = false;

  // Sums accumulate in f32. m <= kStreamedRows, and of bf16 on AVX512-BF16 without AMX m <= 64,
  // streams the weights through our own kernels; more go to oneDNN's product in tiles (or to our
  // kernels where oneDNN has none for this processor). Results do not depend on the number of
  // threads; that m rows give the bits of each row alone oneDNN does not promise.
  //   Of codes, m <= kCodedRows, and of bf16 on AVX512-BF16 without AMX m <= kManyCodedRows, are
  // multiplied with the codes as they stream by, whose scales multiply the sums of a group (in bf16
  // there, NF4's quantiles are rounded). For more rows, panels are expanded to plain weights of the
  // input dtype, s c rounded, which a core's caches hold while all rows are multiplied with them.
  void run(const WeightRows& w, LinearWorkspace& workspace, const Context& context) const;

  static constexpr int64_t kStreamedRows = 4;
  // Of kManyCodedRows, decoding takes a few per cent of the time, and our own product is as fast as
  // oneDNN's; beyond, expanding takes less (a core of an AMD EPYC with AVX512-BF16, a matrix
  // of [4096, 4096], 128 rows, as shares of the time of plain bf16 weights: 1.10 expanded, 1.04
  // from codes).
  static constexpr int64_t kCodedRows = 8, kManyCodedRows = 128;
};

}  // namespace reprise::kernels
