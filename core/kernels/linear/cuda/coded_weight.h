// A weight matrix stored as codes on the device. A few input rows are multiplied with the codes as
// they are read, many with tiles of outputs that are expanded to plain weights.
#pragma once

#include <cstdint>
#include <memory>

#include "core/device/buffer.h"
#include "core/kernels/linear/cuda/coded_product.cuh"
#include "core/kernels/linear/cuda/epilogue_bias.h"
#include "core/kernels/linear/cuda/gemm.h"
#include "core/kernels/linear/weight_store.h"

namespace reprise::kernels::cuda {

// Device memory for expanded outputs, which all weights of a device share: the device keeps the
// order of its work. It is there before any product, because none may allocate while a graph is
// recorded.
class ExpandedTile {
 public:
  static constexpr int64_t kBytes = int64_t{16} << 20;

  explicit ExpandedTile(const std::shared_ptr<DeviceRuntime>& runtime) : memory_(runtime, kBytes) {}
  [[nodiscard]] void* data() const { return memory_.data(); }

 private:
  mutable Buffer memory_;
};

class CodedWeight final : public WeightStore {
 public:
  // Makes the codes that the CPU makes of the same values. `gemm` must outlive it. The matrix is
  // read in pieces, so that the host never holds all of it. Throws NotFiniteError for a row with a
  // NaN or an infinity.
  CodedWeight(int64_t rows, int64_t cols, WeightType type, const Weight::FillRows& fill,
              const Context& context, Gemm& gemm, std::shared_ptr<ExpandedTile> tile);

  [[nodiscard]] size_t bytes() const override;
  void read_block(int64_t first_row, int64_t end_row, int64_t first_col, int64_t end_col,
                  float* out) const override;
  void apply(const LinearCall& call, int64_t first, int64_t end, LinearWorkspace& workspace,
             const Context& context) const override;

  // Up to kCodedRows rows, codes are multiplied as they are read, 32 rows at a time. By the bytes
  // and instructions of both ways, expanding four-bit codes costs about as much as four such
  // passes; not measured on a device yet.
  static constexpr int64_t kCodedRows = 128;

 private:
  class Filler;
  [[nodiscard]] DeviceCodes codes() const;
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
