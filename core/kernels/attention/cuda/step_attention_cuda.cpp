#include "core/kernels/attention/cuda/step_attention_cuda.h"

#include "core/base/error.h"
#include "core/kernels/attention/cuda/attention.cuh"
#include "core/kernels/attention/cuda/tiles.h"
#include "core/kernels/kv_write/cuda/kv_write.cuh"

namespace reprise::kernels::cuda {
namespace {

class CudaStepAttention final : public StepAttention {
 public:
  explicit CudaStepAttention(reprise::cuda::CudaDevice& device)
      : device_(device), gpu_(model_of(device)), attention_(device) {}

  void begin(const kv::AttentionPlan& plan, int64_t heads, const AttentionParams& params) override {
    begin(plan, heads, params, RowResults::kFinished);
  }

  void begin_parts(const kv::AttentionPlan& plan, int64_t heads,
                   const AttentionParams& params) override {
    begin(plan, heads, params, RowResults::kPartial);
  }

  void attend_parts(int64_t layer, const QueryView& q) override {
    attention_.run_parts(layer, queries_of(q), {}, device_.stream());
  }

  void merge_parts(const OutputView& out) override {
    attention_.merge_parts(output_of(out), device_.stream());
  }

  void write_kv(int64_t layer, const float* keys, const float* values,
                int64_t row_stride) override {
    cuda::write_kv(write_of(layer, keys, values, row_stride), device_.stream());
  }

  void rotate_and_write_kv(const RotaryCall& rotary, int64_t layer, const float* keys,
                           const float* values, int64_t row_stride) override {
    cuda::rotate_and_write_kv(rotary, write_of(layer, keys, values, row_stride), device_.stream());
  }

  void attend(int64_t layer, const QueryView& q, const OutputView& out) override {
    attention_.run(layer, queries_of(q), output_of(out), device_.stream());
  }

  void append_key(WorkKey& key) const override {
    append_address(key, cache_.keys);
    append_address(key, cache_.values);
    for (const int64_t shape : {static_cast<int64_t>(cache_.dtype), cache_.layer_stride,
                                cache_.head_stride, cache_.kv_heads, cache_.head_dim, rows_})
      key.push_back(static_cast<uint64_t>(shape));
    attention_.append_key(key);
  }

 private:
  [[nodiscard]] KvWrite write_of(int64_t layer, const float* keys, const float* values,
                                 int64_t row_stride) const {
    return {.cache = cache_,
            .row_slots = attention_.row_slots(),
            .rows = rows_,
            .layer = layer,
            .keys = keys,
            .values = values,
            .row_stride = row_stride};
  }
  void begin(const kv::AttentionPlan& plan, int64_t heads, const AttentionParams& params,
             RowResults results) {
    for (const kv::CacheView& cache : plan.caches)
      if (cache.device != Device::kCuda)
        raise(
            "a plan with a cache in the memory of device {} on device cuda: copy its states there",
            name_of(cache.device));
    if (plan.rows() > 0)
      REPRISE_CHECK(!plan.caches.empty(), "{} rows, but no cache to write them to", plan.rows());
    cache_ = plan.caches.empty() ? kv::CacheView{} : plan.caches[0];
    rows_ = plan.rows();
    attention_.begin(plan, heads, params, gpu_, results);
  }

  static DeviceQueries queries_of(const QueryView& q) {
    return {.data = q.data, .dtype = DType::kF32, .row_stride = q.row_stride};
  }
  static DeviceOutput output_of(const OutputView& out) {
    return {.data = out.data, .dtype = out.dtype};
  }

  reprise::cuda::CudaDevice& device_;
  GpuModel gpu_;
  kv::CacheView cache_;
  int64_t rows_ = 0;
  DeviceAttention attention_;
};

}  // namespace

GpuModel model_of(const reprise::cuda::CudaDevice& device) {
  const reprise::cuda::DeviceFacts& facts = device.facts();
  GpuModel model = gpu_model(facts.name, facts.major, facts.minor, facts.sms);
  model.has_warpgroups &= kBuiltForWarpgroups;
  return model;
}

std::unique_ptr<StepAttention> make_step_attention(reprise::cuda::CudaDevice& device) {
  return std::make_unique<CudaStepAttention>(device);
}

}  // namespace reprise::kernels::cuda
