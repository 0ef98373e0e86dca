// Implements DeviceKernels: copies arrays from the host to the device, and launches kernels in the
// device's stream.
#include "core/kernels/device/cuda/backend.h"

#include "core/base/error.h"
#include "core/kernels/activation/cuda/activation.cuh"
#include "core/kernels/attention/cuda/step_attention_cuda.h"
#include "core/kernels/attention/cuda/tiles.h"
#include "core/kernels/attention_map/cuda/device_maps.h"
#include "core/kernels/clip/cuda/clip.cuh"
#include "core/kernels/device/cuda/timing.h"
#include "core/kernels/device/device_kernels.h"
#include "core/kernels/embedding/cuda/embedding.cuh"
#include "core/kernels/linear/cuda/coded_weight.h"
#include "core/kernels/linear/cuda/device_weight.h"
#include "core/kernels/linear/cuda/gemm.h"
#include "core/kernels/norm/cuda/norm.cuh"
#include "core/kernels/rotary/cuda/rotary.cuh"
#include "core/kernels/rows/cuda/rows.cuh"
#include "core/kernels/sampling/cuda/draw.cuh"
#include "core/kernels/shared/cuda/scratch.h"

namespace reprise::kernels::cuda {
namespace {

class CudaKernels final : public DeviceKernels {
 public:
  explicit CudaKernels(reprise::cuda::CudaDevice& device)
      : device_(device), gemm_(make_gemm(device)) {}

  void norm(const NormCall& call) override { cuda::norm(call, stream()); }
  void activation(const ActivationCall& call) override { cuda::activation(call, stream()); }
  void rotary(const RotaryCall& call) override { cuda::rotary(call, stream()); }
  void clip(const ClipCall& call) override { cuda::clip(call, stream()); }

  void rotary_angles(std::span<const int32_t> positions, std::span<const float> frequencies,
                     float factor, float* cos, float* sin) override {
    const Scratch on_device(device_, positions);
    const Scratch inverse(device_, frequencies);
    cuda::rotary_angles({.positions = on_device.data(),
                         .inverse_frequency = inverse.data(),
                         .factor = factor,
                         .cos = cos,
                         .sin = sin,
                         .rows = std::ssize(positions),
                         .half = std::ssize(frequencies)},
                        stream());
  }

  void embedding(const EmbeddingCall& call) override {
    const Scratch ids(device_, call.ids);
    const Table table = table_of(call);
    for (const int32_t id : call.ids)
      REPRISE_CHECK(0 <= id && id < table.entries, "id {} of {}", id, table.entries);
    cuda::embedding({.table = table.data,
                     .dtype = table.dtype,
                     .entries = table.entries,
                     .cols = table.cols,
                     .ids = ids.data(),
                     .rows = std::ssize(call.ids),
                     .out = call.out,
                     .accumulate = call.accumulate},
                    stream());
  }

  void gather_rows(const GatherRowsCall& call) override {
    const Scratch rows(device_, call.rows);
    cuda::gather_rows({.in = call.in,
                       .out = call.out,
                       .row_bytes = call.row_bytes,
                       .rows = rows.data(),
                       .count = std::ssize(call.rows)},
                      stream());
  }

  void combine_rows(const CombineRowsCall& call) override {
    const Scratch places(device_, call.places);
    const Scratch weights(device_, call.weights);
    cuda::combine_rows({.in = call.in,
                        .places = places.data(),
                        .weights = weights.data(),
                        .out = call.out,
                        .rows = call.rows,
                        .per_row = call.per_row,
                        .cols = call.cols},
                       stream());
  }

  void sample(const SampleCall& call) override {
    const Scratch rules(device_, call.rules);
    const Scratch<int32_t> tokens(device_, call.tokens.size());
    draw_tokens({.logits = call.logits,
                 .vocab = static_cast<int32_t>(call.vocab),
                 .rules = rules.data(),
                 .draws = std::ssize(call.rules),
                 .tokens = tokens.data()},
                stream());
    device_.copy_out(call.tokens.data(), tokens.data(), call.tokens.size_bytes());
  }

  std::unique_ptr<WeightStore> make_weight(int64_t rows, int64_t cols, WeightType type,
                                           const Weight::FillRows& fill,
                                           const Context& context) override {
    if (is_quantized(type.format))
      return std::make_unique<CodedWeight>(rows, cols, type, fill, context, *gemm_,
                                           expanded_tile(context.runtime));
    return std::make_unique<DeviceWeight>(rows, cols, type.format, fill, context, *gemm_);
  }
  void attention_map(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                     const AttentionParams& params, const float* bias, float* map) override {
    cuda::attention_map(plan, layer, q, params, bias, map, device_);
  }
  void apply_map(const kv::AttentionPlan& plan, int64_t layer, std::span<const RowMap> maps,
                 int64_t heads, const OutputView& out) override {
    cuda::apply_maps(plan, layer, maps, heads, out, device_);
  }
  std::unique_ptr<StepAttention> make_step_attention() override {
    return cuda::make_step_attention(device_);
  }
  void require_head_dim(int64_t head_dim) const override { cuda::require_head_dim(head_dim); }
  void require_kv_dtype(DType dtype) const override { cuda::require_kv_dtype(dtype); }
  [[nodiscard]] double reads_us(const RunReads& reads) const override {
    return cuda::reads_us(reads, model_of(device_));
  }
  std::unique_ptr<WorkTimer> make_work_timer(const Context& context) override {
    return cuda::make_work_timer(
        std::static_pointer_cast<reprise::cuda::CudaDevice>(context.runtime));
  }

 private:
  struct Table {
    const void* data;
    DType dtype;
    int64_t entries, cols;
  };
  static Table table_of(const EmbeddingCall& call) {
    if (call.weight == nullptr)
      return {call.table.data, call.table.dtype, call.table.shape[0], call.table.shape[1]};
    const WeightRows all = *call.weight;
    REPRISE_CHECK(!is_quantized(all.store->format()), "a table in {}",
                  name_of(all.store->format()));
    const auto& weight = static_cast<const DeviceWeight&>(*all.store);
    return {weight.data(), weight.input_dtype(), weight.rows(), weight.cols()};
  }
  // Returns the tile that existing weights share, or a new tile if no weights exist.
  std::shared_ptr<ExpandedTile> expanded_tile(const std::shared_ptr<DeviceRuntime>& runtime) {
    std::shared_ptr<ExpandedTile> tile = tile_.lock();
    if (tile == nullptr) tile_ = tile = std::make_shared<ExpandedTile>(runtime);
    return tile;
  }
  [[nodiscard]] cudaStream_t stream() const { return device_.stream(); }

  reprise::cuda::CudaDevice& device_;
  std::unique_ptr<Gemm> gemm_;
  std::weak_ptr<ExpandedTile> tile_;
};

class CudaBackend final : public reprise::cuda::CudaDevice {
 public:
  explicit CudaBackend(const reprise::cuda::CudaOptions& options)
      : CudaDevice(options), kernels_(*this) {}
  [[nodiscard]] DeviceKernels& operations() override { return kernels_; }

 private:
  CudaKernels kernels_;
};

}  // namespace

std::shared_ptr<reprise::cuda::CudaDevice> open_cuda(const reprise::cuda::CudaOptions& options) {
  return std::make_shared<CudaBackend>(options);
}

}  // namespace reprise::kernels::cuda
