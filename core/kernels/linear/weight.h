// A weight matrix in the form the kernels of its device read: made once, then opaque.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/error.h"
#include "core/base/weight_format.h"
#include "core/device/context.h"

namespace reprise::kernels {

// A format of codes met a NaN or an infinity, which no code stands for.
class NotFiniteError : public Error {
 public:
  using Error::Error;
};

class WeightStore;  // how the numbers lie on a device: core/kernels/linear/weight_store.h

// Consecutive rows of a weight matrix, as a linear layer of their own; borrowed from the Weight.
struct WeightRows {
  const WeightStore* store = nullptr;
  int64_t first = 0, end = 0;

  [[nodiscard]] int64_t rows() const { return end - first; }
};

// Throws Error for codes on another device than the CPU, which has no products of them.
void require_plain_weights(WeightFormat format, Device device);

// W of y = x W^T: [rows, cols] = [outputs, inputs], as checkpoints store it.
class Weight {
 public:
  // Writes rows [first, end) of the matrix, row-major [end - first, cols] in source_dtype(format).
  // Called from several threads.
  using FillRows = std::function<void(int64_t first, int64_t end, void* out)>;

  Weight();
  // On context.device. Each thread reads 64 rows at a time; beside the matrix as it stays, no more
  // of it is held (in nf4-double, its scales in f32 for the time being). Throws Error when memory
  // is short, and naming format and device where the build cannot multiply with them;
  // NotFiniteError, naming row and column.
  Weight(int64_t rows, int64_t cols, WeightType type, const FillRows& fill, const Context& context);
  Weight(Weight&&) noexcept;
  Weight& operator=(Weight&&) noexcept;
  ~Weight();

  [[nodiscard]] bool empty() const { return store_ == nullptr; }
  [[nodiscard]] int64_t rows() const;  // 0 where empty, as are cols() and bytes()
  [[nodiscard]] int64_t cols() const;
  [[nodiscard]] size_t bytes() const;  // as held
  [[nodiscard]] WeightFormat format() const;
  [[nodiscard]] DType input_dtype() const;  // of what it is multiplied with
  [[nodiscard]] Device device() const;

  // Rows [first, end) alone, without a copy. Parts that begin at a multiple of 64 cost their share
  // of the whole; others go through the streaming kernel, which reads them again for every six
  // inputs.
  [[nodiscard]] WeightRows rows(int64_t first, int64_t end) const;
  operator WeightRows() const { return rows(0, rows()); }

  // Rows [first_row, end_row) x columns [first_col, end_col) as f32, row-major: the embedding's
  // rows where it is tied to the head, a rank's share in tensor parallelism.
  void read_block(int64_t first_row, int64_t end_row, int64_t first_col, int64_t end_col,
                  float* out) const;

 private:
  std::unique_ptr<WeightStore> store_;
};

}  // namespace reprise::kernels
