#include "core/kernels/attention/cuda/roofline.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::kernels::cuda {
namespace {

// Returns the number of (row, key) pairs of the item whose row sees the key.
int64_t visible_pairs(const kv::AttentionPlan& plan, const kv::WorkItem& item, int64_t window) {
  int64_t pairs = 0;
  for (int32_t row = item.first_row; row < item.end_row; ++row)
    pairs += seen_keys(plan, item, row, row + 1, window).count();
  return pairs;
}

}  // namespace

std::string_view name_of(Architecture architecture) {
  return architecture == Architecture::kSm80 ? "sm_80" : "sm_90";
}

GpuModel gpu_model(std::string_view device_name, int major, int minor, int sms) {
  if (major < 8)
    raise(
        "{} has compute capability {}.{}; the CUDA kernels need 8.0 (A100) or later: use --device "
        "cpu",
        device_name, major, minor);
  GpuModel model = major == 8 ? kA100 : kH100;
  if (device_name.find("H200") != std::string_view::npos) model = kH200;
  // These GPUs, such as A10, L4 and RTX 5090, have less shared memory ("Technical Specifications
  // per Compute Capability").
  if ((major == 8 && minor != 0) || major >= 12) {
    model.shared_bytes = 100 << 10;
    model.shared_block_bytes = 99 << 10;
  }
  model.sms = sms;
  model.has_warpgroups = major == 9;
  return model;
}

AttentionWork least_work(const kv::AttentionPlan& plan, int64_t heads,
                         const AttentionParams& params, const WorkDtypes& dtypes) {
  const auto head_dim = static_cast<double>(plan.head_dim());
  const auto row_elements = static_cast<double>(heads * plan.rows()) * head_dim;
  AttentionWork work{.query_bytes = row_elements * static_cast<double>(size_of(dtypes.query)),
                     .output_bytes = row_elements * static_cast<double>(size_of(dtypes.output))};
  for (const kv::WorkItem& item : plan.items) {
    const kv::CacheView& cache = plan.cache_of(plan.segment_of(item));
    const int64_t keys = seen_keys(plan, item, item.first_row, item.end_row, params.window).count();
    const auto pairs = static_cast<double>(visible_pairs(plan, item, params.window) * heads);
    work.kv_bytes += 2.0 * static_cast<double>(keys * plan.kv_heads()) * head_dim *
                     static_cast<double>(size_of(cache.dtype));
    work.flops += 4.0 * head_dim * pairs;
    work.exponentials += pairs;
  }
  return work;
}

double Roofline::least_us() const {
  return std::max({memory_us, l2_us, product_us, exponential_us});
}

std::string_view Roofline::limit() const {
  if (least_us() == memory_us) return "memory";
  if (least_us() == l2_us) return "L2";
  return least_us() == product_us ? "products" : "exponentials";
}

Roofline roofline_of(const AttentionWork& work, const GpuModel& gpu) {
  return {.memory_us = work.bytes() / gpu.dram_bytes_per_us(),
          .l2_us = (work.bytes() + work.reread_bytes) / gpu.l2_bytes_per_us(),
          .product_us = work.flops / gpu.flops_per_us(),
          .exponential_us = work.exponentials / gpu.exponentials_per_us()};
}

}  // namespace reprise::kernels::cuda
