// A weight matrix stored as codes on the device. A few input rows are multiplied with codes that
// are decoded as they are read; many input rows are multiplied with tiles of outputs that are
// expanded to plain weights.
#pragma once

#include <cstdint>
#include <memory>

#include "core/device/buffer.h"
#include "core/kernels/linear/cuda/coded_product.cuh"
#include "core/kernels/linear/cuda/epilogue_bias.h"
#include "core/kernels/linear/cuda/gemm.h"
#include "core/kernels/linear/weight_store.h"

namespace reprise::kernels::cuda {

// Device memory for the expanded weights of a tile of outputs. All matrices of a device share it,
// because the device runs its work in order. It is allocated before any product, because a product
// must not allocate while a graph is recorded.
class ExpandedTile {
 public:
  static constexpr int64_t kBytes = int64_t{16} << 20;

  explicit ExpandedTile(const std::shared_ptr<DeviceRuntime>& runtime) : memory_(runtime, kBytes) {}
  [[nodiscard]] void* data() { return memory_.data(); }

 private:
  Buffer memory_;
};

class CodedWeight final : public WeightStore {
 public:
  // Makes the same codes as the CPU makes from the same values. `gemm` must outlive this object.
  // The matrix is read in pieces, so that the host never holds all of it. Throws NotFiniteError if
  // a row contains NaN or infinity.
  CodedWeight(int64_t rows, int64_t cols, WeightType type, const Weight::FillRows& fill,
              const Context& context, Gemm& gemm, std::shared_ptr<ExpandedTile> tile);

  [[nodiscard]] size_t bytes() const override;
  void read_block(int64_t first_row, int64_t end_row, int64_t first_col, int64_t end_col,
                  float* out) const override;
  void apply(const LinearCall& call, int64_t first, int64_t end, LinearWorkspace& workspace,
             const Context& context) const override;

  // Most input rows that are multiplied with codes decoded as they are read. Each pass over the
  // codes multiplies 32 rows. On an H100 with the gate and up projections of Llama-2-7B, four
  // passes took 0.83 (int8) and 0.95 (int4) of the time that expanded weights take; two passes with
  // NF4 took 0.65 of it, so a third pass makes both ways equal.
  static constexpr int64_t coded_rows(WeightFormat format) {
    return format == WeightFormat::kInt8 || format == WeightFormat::kInt4 ? 128 : 96;
  }

 private:
  class Filler;
  [[nodiscard]] DeviceCodes codes() const;
  [[nodiscard]] cudaStream_t stream() const;
  void expand_and_multiply(const CodedProduct& product, const LinearCall& call,
                           const Context& context) const;

  std::shared_ptr<DeviceRuntime> runtime_;
  Gemm& gemm_;
  std::shared_ptr<ExpandedTile> tile_;
  Buffer codes_, scales_, scale_codes_, scale_steps_;  // see DeviceCodes
  float scale_mean_ = 0.0f;
  mutable EpilogueBias bias_;
};

}  // namespace reprise::kernels::cuda
