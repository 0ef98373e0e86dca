// The linear layer: y = x W^T + bias.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/dtype.h"
#include "core/device/buffer.h"
#include "core/device/context.h"
#include "core/kernels/linear/weight.h"

namespace reprise::kernels {

// Memory that linear layers reuse: expanded codes, and inputs copied to the form that a kernel
// takes. Each of several concurrent calls needs a workspace of its own.
struct LinearWorkspace {
  AlignedBuffer padded_input;
  std::vector<float> input_sums;        // sums of each group of inputs that share a scale
  std::vector<AlignedBuffer> expanded;  // [workers]  panels of codes expanded to plain weights
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

  // Computes y. Sums accumulate in f32. Results do not depend on the number of threads.
  // On the CPU, rows are divided into parts of at most 256 (f32: 128), and the weights are read
  // from memory once for each part. With plain weights, a row's bits do not depend on m in f32
  // arithmetic, nor in bf16 if m > kStreamedRows (m > 1 with AMX). With codes they may depend on m,
  // because more rows are multiplied with expanded codes.
  // With a batch-invariant context a row's bits never depend on m: one kernel takes any m (in bf16
  // the kernel for many rows, in AMX's tiles also for m = 1), and codes are never expanded.
  //   Codes: with m <= kCodedRows, or m <= kManyCodedRows for bf16 on AVX512-BF16 without AMX, rows
  // are multiplied with the codes as they are read, and a group's sum is then multiplied with the
  // group's scale (in bf16, NF4's quantiles are rounded). For larger m, panels are expanded to
  // plain weights, rounded to the input dtype, which stay in a core's caches while all rows are
  // multiplied with them.
  void run(const WeightRows& w, LinearWorkspace& workspace, const Context& context) const;

  static constexpr int64_t kStreamedRows = 4;
  // Most rows that are multiplied with codes as they are read: kManyCodedRows for bf16 on
  // AVX512-BF16 without AMX, else kCodedRows. Up to kManyCodedRows rows, decoding takes a few per
  // cent of the time; with more rows, expanding is faster. (One core of an AMD EPYC with
  // AVX512-BF16, matrix [4096, 4096], 128 rows: from codes the product takes 1.04 times as long as
  // with plain bf16 weights, with expanded codes 1.10 times.)
  static constexpr int64_t kCodedRows = 8, kManyCodedRows = 128;
};

}  // namespace reprise::kernels
