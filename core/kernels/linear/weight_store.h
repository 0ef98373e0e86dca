// The interface of a weight matrix stored on a device.
#pragma once

#include <cstdint>

#include "core/kernels/linear/linear.h"
#include "core/kernels/linear/weight.h"

namespace reprise::kernels {

class WeightStore {
 public:
  WeightStore(int64_t rows, int64_t cols, WeightType type, Device device)
      : rows_(rows), cols_(cols), type_(type), device_(device) {}
  virtual ~WeightStore() = default;
  WeightStore(const WeightStore&) = delete;
  WeightStore& operator=(const WeightStore&) = delete;

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t cols() const { return cols_; }
  [[nodiscard]] WeightFormat format() const { return type_.format; }
  [[nodiscard]] DType input_dtype() const { return type_.input; }
  [[nodiscard]] Device device() const { return device_; }
  [[nodiscard]] virtual size_t bytes() const = 0;
  // Implements Weight::read_block(), which has checked the ranges.
  virtual void read_block(int64_t first_row, int64_t end_row, int64_t first_col, int64_t end_col,
                          float* out) const = 0;
  // Runs the call with rows [first, end) of the matrix, which are a valid non-empty range. call.m >
  // 0.
  virtual void apply(const LinearCall& call, int64_t first, int64_t end, LinearWorkspace& workspace,
                     const Context& context) const = 0;

 private:
  int64_t rows_, cols_;
  WeightType type_;
  Device device_;
};

}  // namespace reprise::kernels
