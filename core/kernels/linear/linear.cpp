// Checks the arguments of linear layers and passes them to the store that holds the weights.
#include "core/kernels/linear/linear.h"

#include "core/base/error.h"
#include "core/device/operation_log.h"
#include "core/kernels/device/device_kernels.h"
#include "core/kernels/linear/cpu/panels.h"
#include "core/kernels/linear/cpu/quantized_panels.h"
#include "core/kernels/linear/weight_store.h"

namespace reprise::kernels {

Weight::Weight() = default;
Weight::Weight(Weight&&) noexcept = default;
Weight& Weight::operator=(Weight&&) noexcept = default;
Weight::~Weight() = default;

Weight::Weight(int64_t rows, int64_t cols, WeightType type, const FillRows& fill,
               const Context& context) {
  REPRISE_CHECK(rows > 0 && cols > 0, "[{}, {}]", rows, cols);
  if (DeviceKernels* device = device_kernels(context, "a linear layer")) {
    store_ = device->make_weight(rows, cols, type, fill, context);
    return;
  }
  if (type.format == WeightFormat::kF16 || type.input == DType::kF16)
    raise(
        "weights in {} are not multiplied with {} on device {}: load the model with dtype f32 or "
        "bf16",
        name_of(type.format), name_of(type.input), name_of(context.device));
  if (is_quantized(type.format)) {
    store_ = std::make_unique<cpu::QuantizedPanels>(rows, cols, type, fill, context);
    return;
  }
  REPRISE_CHECK(type.input == source_dtype(type.format), "{} times {}", name_of(type.format),
                name_of(type.input));
  store_ = std::make_unique<cpu::Panels>(rows, cols, type.format, fill, context);
}

int64_t Weight::rows() const { return empty() ? 0 : store_->rows(); }
int64_t Weight::cols() const { return empty() ? 0 : store_->cols(); }
size_t Weight::bytes() const { return empty() ? 0 : store_->bytes(); }
WeightFormat Weight::format() const { return empty() ? WeightFormat::kF32 : store_->format(); }
DType Weight::input_dtype() const { return empty() ? DType::kF32 : store_->input_dtype(); }
Device Weight::device() const { return empty() ? Device::kCpu : store_->device(); }

WeightRows Weight::rows(int64_t first, int64_t end) const {
  REPRISE_CHECK(0 <= first && first <= end && end <= rows(), "rows [{}, {}) of {}", first, end,
                rows());
  return {.store = store_.get(), .first = first, .end = end};
}

void Weight::read_block(int64_t first_row, int64_t end_row, int64_t first_col, int64_t end_col,
                        float* out) const {
  REPRISE_CHECK(0 <= first_row && first_row <= end_row && end_row <= rows() && 0 <= first_col &&
                    first_col <= end_col && end_col <= cols(),
                "block [{}, {}) x [{}, {}) of [{}, {}]", first_row, end_row, first_col, end_col,
                rows(), cols());
  if (first_row < end_row) store_->read_block(first_row, end_row, first_col, end_col, out);
}

void LinearCall::run(const WeightRows& w, LinearWorkspace& workspace,
                     const Context& context) const {
  REPRISE_CHECK(!accumulate || out_dtype == DType::kF32, "only f32 accumulates");
  REPRISE_CHECK(w.store != nullptr, "a weight that was not loaded");
  REPRISE_CHECK(w.store->device() == context.device, "weights on {}, a computation on {}",
                name_of(w.store->device()), name_of(context.device));
  if (m == 0 || w.rows() == 0) return;
  const OperationSpan span(context, "matrix product");
  w.store->apply(*this, w.first, w.end, workspace, context);
}

}  // namespace reprise::kernels
