#include "core/kernels/embedding/embedding.h"

#include "core/base/error.h"
#include "core/device/operation_log.h"
#include "core/kernels/device/device_kernels.h"
#include "core/kernels/shared/for_rows.h"

namespace reprise::kernels {
namespace {

void add_row(const void* row, DType dtype, float* out, int64_t cols) {
  visit_dtype(dtype, [&](auto zero) {
    const auto* values = static_cast<const decltype(zero)*>(row);
    for (int64_t c = 0; c < cols; ++c) out[c] += static_cast<float>(values[c]);
  });
}

}  // namespace

void EmbeddingCall::run(const Context& context) const {
  const OperationSpan span(context, "embedding");
  REPRISE_CHECK(weight == nullptr || !accumulate, "a head's rows are not added up");
  if (DeviceKernels* device = device_kernels(context, "an embedding"))
    return device->embedding(*this);
  const int64_t entries = weight != nullptr ? weight->rows() : table.shape[0];
  const int64_t cols = weight != nullptr ? weight->cols() : table.shape[1];
  for_rows(context, static_cast<int64_t>(ids.size()), cols * kFloat, [&](int64_t row) {
    const int64_t id = ids[static_cast<size_t>(row)];
    REPRISE_CHECK(0 <= id && id < entries, "id {} of {}", id, entries);
    float* to = out + row * cols;
    if (weight != nullptr) return weight->read_block(id, id + 1, 0, cols, to);
    const char* from = static_cast<const char*>(table.data) +
                       static_cast<size_t>(id * cols) * size_of(table.dtype);
    if (accumulate) return add_row(from, table.dtype, to, cols);
    convert(from, table.dtype, to, DType::kF32, static_cast<size_t>(cols));
  });
}

}  // namespace reprise::kernels
