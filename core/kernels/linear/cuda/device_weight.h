// A weight matrix on the device: row-major, as checkpoints store it and cuBLASLt reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/device/buffer.h"
#include "core/kernels/linear/cuda/epilogue_bias.h"
#include "core/kernels/linear/cuda/gemm.h"
#include "core/kernels/linear/weight_store.h"

namespace reprise::kernels::cuda {

class DeviceWeight final : public WeightStore {
 public:
  // `gemm` must outlive this object. The matrix is read in pieces of at most kPieceBytes bytes, so
  // that the host never holds all of it.
  DeviceWeight(int64_t rows, int64_t cols, WeightFormat format, const Weight::FillRows& fill,
               const Context& context, Gemm& gemm);

  [[nodiscard]] size_t bytes() const override { return data_.bytes(); }
  void read_block(int64_t first_row, int64_t end_row, int64_t first_col, int64_t end_col,
                  float* out) const override;
  void apply(const LinearCall& call, int64_t first, int64_t end, LinearWorkspace& workspace,
             const Context& context) const override;

  // [rows, cols] in input_dtype(), in device memory.
  [[nodiscard]] const void* data() const { return data_.data(); }

  static constexpr int64_t kPieceBytes = int64_t{64} << 20;

 private:
  std::shared_ptr<DeviceRuntime> runtime_;
  Gemm& gemm_;
  Buffer data_;
  mutable EpilogueBias bias_;
};

}  // namespace reprise::kernels::cuda
