// A weight matrix packed once for streaming and for matrix products, and the linear layer on it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/dtype.h"
#include "core/device/buffer.h"
#include "core/device/context.h"

namespace reprise::kernels {

// Reused memory of linear layers: the product library's scratchpad and padded copies of small
// inputs.
struct LinearWorkspace {
  AlignedBuffer scratchpad;
  AlignedBuffer padded_input;
};

// y = x W^T. W is [rows, cols] = [outputs, inputs] as checkpoints store it, kept once, in panels of
// 64 outputs:
//   f32:  panel[k][64],  bf16: panel[k / 2][64][2],  k padded with zeros to 16 (f32) or 32 (bf16),
//   outputs to 64.
// That is oneDNN's BA16a64b / BA16a64b2a, so its matrix products take it as it is, and a
// matrix-vector product reads it from front to back. One copy serves both: a 7B model in bf16
// leaves no room for two.
class PackedMatrix {
 public:
  static constexpr int64_t kPanel = 64;

  // Writes rows [first, end) of the matrix, row-major [end - first, cols] of the matrix's dtype.
  // Called from several threads.
  using FillRows = std::function<void(int64_t first, int64_t end, void* out)>;

  PackedMatrix();
  // `dtype` is f32 or bf16. Throws Error when memory is short.
  PackedMatrix(int64_t rows, int64_t cols, DType dtype, const FillRows& fill,
               const Context& context);
  PackedMatrix(PackedMatrix&&) noexcept;
  PackedMatrix& operator=(PackedMatrix&&) noexcept;
  ~PackedMatrix();

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t cols() const { return cols_; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] bool empty() const { return rows_ == 0; }
  [[nodiscard]] size_t bytes() const { return data_.bytes(); }
  [[nodiscard]] const void* panel(int64_t index) const;
  [[nodiscard]] int64_t panels() const { return (rows_ + kPanel - 1) / kPanel; }
  // Words of 32 bits along k in a panel: an f32, or two bf16.
  [[nodiscard]] int64_t panel_words() const { return panel_words_; }

  // Row `row` of the matrix as f32 [cols] (the embedding, where input and output embeddings are
  // tied).
  void read_row(int64_t row, float* out) const;

 private:
  friend struct LinearCall;
  struct Primitives;  // oneDNN primitives made so far, by shape of the call

  int64_t rows_ = 0, cols_ = 0, panel_words_ = 0;
  DType dtype_ = DType::kF32;
  AlignedBuffer data_;
  std::unique_ptr<Primitives> primitives_;
};

// One application of a linear layer.
//   x     [m, cols]   the matrix's dtype, row-major
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

  // Sums accumulate in f32. m <= kStreamedRows streams the weights through our own kernel, more go
  // to oneDNN's product (or to our kernel where oneDNN has none for this processor). Results do not
  // depend on the number of threads in our kernel; oneDNN does not promise that, nor that m rows
  // give the bits of each row alone.
  void run(const PackedMatrix& w, LinearWorkspace& workspace, const Context& context) const;

  static constexpr int64_t kStreamedRows = 4;

 private:
  void run_streamed(const PackedMatrix& w, LinearWorkspace& workspace,
                    const Context& context) const;
  [[nodiscard]] bool run_product(const PackedMatrix& w, LinearWorkspace& workspace,
                                 const Context& context) const;
};

}  // namespace reprise::kernels
