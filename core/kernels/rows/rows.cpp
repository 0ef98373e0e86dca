// Runs operations that move rows on several threads: embedding, clipping, selecting and combining
// rows.
#include <cstring>

#include "core/base/error.h"
#include "core/kernels/clip/clip.h"
#include "core/kernels/device/device_kernels.h"
#include "core/kernels/embedding/embedding.h"
#include "core/kernels/rows/combine_rows.h"
#include "core/kernels/rows/gather_rows.h"
#include "core/kernels/shared/cpu/pointwise.h"
#include "core/kernels/shared/cpu/weighted_sum.h"
#include "core/kernels/shared/for_rows.h"

namespace reprise::kernels {
namespace {

constexpr int64_t kFloat = sizeof(float);

void add_row(const void* row, DType dtype, float* out, int64_t cols) {
  visit_dtype(dtype, [&](auto zero) {
    const auto* values = static_cast<const decltype(zero)*>(row);
    for (int64_t c = 0; c < cols; ++c) out[c] += static_cast<float>(values[c]);
  });
}

// In place, rows must move one after the other, but columns are independent. A slice is two pages'
// worth of each row.
void move_up(const GatherRowsCall& call, const Context& context) {
  constexpr int64_t kSliceBytes = 8 << 10;
  auto* data = static_cast<char*>(call.out);
  const int64_t slices = (call.row_bytes + kSliceBytes - 1) / kSliceBytes;
  parallel_for(context, slices, [&](int64_t slice, int) {
    const int64_t first = slice * kSliceBytes;
    const auto bytes = static_cast<size_t>(std::min(kSliceBytes, call.row_bytes - first));
    for (size_t i = 0; i < call.rows.size(); ++i)
      if (const auto row = static_cast<size_t>(call.rows[i]); row != i)
        std::memcpy(data + static_cast<int64_t>(i) * call.row_bytes + first,
                    data + static_cast<int64_t>(row) * call.row_bytes + first, bytes);
  });
}

}  // namespace

void EmbeddingCall::run(const Context& context) const {
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

void ClipCall::run(const Context& context) const {
  REPRISE_CHECK(limit > 0.0f, "limit {}", limit);
  if (DeviceKernels* device = device_kernels(context, "clipping")) return device->clip(*this);
  for_rows(context, rows, cols * kFloat,
           [&](int64_t row) { cpu::clip(data + row * cols, cols, limit, context.isa); });
}

void CombineRowsCall::run(const Context& context) const {
  const auto pairs = static_cast<size_t>(rows * per_row);
  REPRISE_CHECK(places.size() == pairs && weights.size() == pairs, "{} places, {} weights of {}",
                places.size(), weights.size(), pairs);
  if (DeviceKernels* device = device_kernels(context, "adding rows"))
    return device->combine_rows(*this);
  for_rows(context, rows, (per_row + 1) * cols * kFloat, [&](int64_t row) {
    for (int64_t s = 0; s < per_row; ++s) {
      const auto at = static_cast<size_t>(row * per_row + s);
      cpu::add_weighted({.weights = &weights[at],
                         .values = in + places[at] * cols,
                         .tokens = 1,
                         .head_dim = cols,
                         .sum = out + row * cols},
                        context.isa);
    }
  });
}

void GatherRowsCall::run(const Context& context) const {
  DeviceKernels* device = device_kernels(context, "picking rows");
  if (in == out) {
    for (size_t i = 0; i < rows.size(); ++i)
      REPRISE_CHECK(rows[i] >= 0 && (i == 0 || rows[i] > rows[i - 1]),
                    "rows that move in place must ascend: {} at {}", rows[i], i);
    // nothing to move
    if (rows.empty() || static_cast<size_t>(rows.back()) + 1 == rows.size()) return;
    if (device != nullptr) return device->gather_rows(*this);
    return move_up(*this, context);
  }
  if (device != nullptr) return device->gather_rows(*this);
  for_rows(context, static_cast<int64_t>(rows.size()), row_bytes, [&](int64_t i) {
    std::memcpy(static_cast<char*>(out) + i * row_bytes,
                static_cast<const char*>(in) + rows[static_cast<size_t>(i)] * row_bytes,
                static_cast<size_t>(row_bytes));
  });
}

}  // namespace reprise::kernels
