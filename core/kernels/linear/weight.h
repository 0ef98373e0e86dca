// A weight matrix in the layout that the kernels of its device read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/error.h"
#include "core/base/weight_format.h"
#include "core/device/context.h"

namespace reprise::kernels {

// Thrown if a matrix that is to be stored as codes contains NaN or infinity, which no code
// represents.
class NotFiniteError : public Error {
 public:
  using Error::Error;
};

class WeightStore;  // the layout on a device: core/kernels/linear/weight_store.h

// Consecutive rows of a weight matrix, used as a linear layer of their own. They belong to the
// Weight, which must live longer.
struct WeightRows {
  const WeightStore* store = nullptr;
  int64_t first = 0, end = 0;

  [[nodiscard]] int64_t rows() const { return end - first; }
};

// W of y = x W^T: [rows, cols] = [outputs, inputs], as checkpoints store it.
class Weight {
 public:
  // Writes rows [first, end) of the matrix to `out`, row-major [end - first, cols] in
  // source_dtype(format). Called by several threads.
  using FillRows = std::function<void(int64_t first, int64_t end, void* out)>;

  Weight();
  // Makes the matrix on context.device. Each thread reads 64 rows at a time, so that little more
  // than the stored matrix is in memory (for nf4-double also its scales in f32). Throws MemoryError
  // if there is too little memory, Error if the device has no product for the format, and
  // NotFiniteError, which names row and column, if a value to be coded is NaN or infinite.
  Weight(int64_t rows, int64_t cols, WeightType type, const FillRows& fill, const Context& context);
  Weight(Weight&&) noexcept;
  Weight& operator=(Weight&&) noexcept;
  ~Weight();

  [[nodiscard]] bool empty() const { return store_ == nullptr; }
  [[nodiscard]] int64_t rows() const;  // 0 if empty, as are cols() and bytes()
  [[nodiscard]] int64_t cols() const;
  [[nodiscard]] size_t bytes() const;  // as stored
  [[nodiscard]] WeightFormat format() const;
  [[nodiscard]] DType input_dtype() const;  // dtype of the inputs x
  [[nodiscard]] Device device() const;

  // Rows [first, end) as a view. If `first` is a multiple of 64, and `end` one too or rows(), a
  // product with the view takes about (end - first) / rows() of the time for the whole matrix.
  [[nodiscard]] WeightRows rows(int64_t first, int64_t end) const;
  operator WeightRows() const { return rows(0, rows()); }

  // Writes rows [first_row, end_row) x columns [first_col, end_col) as f32, row-major: for an
  // embedding that is tied to the head, or a rank's share in tensor parallelism.
  void read_block(int64_t first_row, int64_t end_row, int64_t first_col, int64_t end_col,
                  float* out) const;

 private:
  std::unique_ptr<WeightStore> store_;
};

}  // namespace reprise::kernels
