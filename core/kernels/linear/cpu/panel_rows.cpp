#include "core/kernels/linear/cpu/panel_rows.h"

#include <algorithm>
#include <cstring>

#include "core/kernels/linear/cpu/linear_task.h"
#include "core/kernels/linear/cpu/product_onednn.h"

namespace reprise::kernels::cpu {

int64_t panel_words(int64_t cols, DType dtype) {
  const int64_t per_word = dtype == DType::kF32 ? 1 : 2;
  const int64_t unit = 16 * per_word;
  return (cols + unit - 1) / unit * unit / per_word;
}

int64_t panels_per_run(const Context& context, const Outputs& outputs) {
  constexpr int64_t kRunsPerThread = 8;
  return std::max<int64_t>(1, outputs.panels() / (kRunsPerThread * std::max(1, context.threads)));
}

const char* padded_rows(const LinearCall& call, size_t x_bytes, size_t row_bytes,
                        LinearWorkspace& workspace) {
  const char* input = static_cast<const char*>(call.x);
  if (row_bytes == x_bytes) return input;
  const size_t needed = static_cast<size_t>(call.m) * row_bytes;
  if (workspace.padded_input.bytes() < needed) workspace.padded_input = AlignedBuffer(needed);
  char* padded = workspace.padded_input.as<char>();
  for (int64_t row = 0; row < call.m; ++row) {
    char* target = padded + static_cast<size_t>(row) * row_bytes;
    std::memcpy(target, input + static_cast<size_t>(row) * x_bytes, x_bytes);
    std::memset(target + x_bytes, 0, row_bytes - x_bytes);
  }
  return padded;
}

bool streams_batches(DType dtype, const Context& context) {
  // A product that uses AMX is faster than ours for any number of rows.
  return dtype == DType::kBF16 && context.isa == Isa::kAvx512Bf16 && !product_uses_amx();
}

WeightFetch Context::*plain_fetch(DType dtype, int64_t m) {
  if (dtype != DType::kBF16) return &Context::weights_f32;
  if (m <= LinearCall::kStreamedRows) return &Context::weights_bf16;
  return m <= kBatchRows ? &Context::batch_bf16 : &Context::large_batch_bf16;
}

PanelRows::PanelRows(const LinearCall& call, int64_t cols, DType dtype, LinearWorkspace& workspace,
                     const Context& context)
    : call_(call),
      dtype_(dtype),
      words_(panel_words(cols, dtype)),
      isa_(context.isa),
      fetch_(context.*plain_fetch(dtype, call.m)),
      has_bf16_dot_(dtype == DType::kBF16 && context.isa == Isa::kAvx512Bf16),
      takes_many_(has_bf16_dot_ && call.m > LinearCall::kStreamedRows),
      input_(padded_rows(call, static_cast<size_t>(cols) * size_of(dtype),
                         static_cast<size_t>(words_) * sizeof(uint32_t), workspace)) {}

void PanelRows::run(int64_t index, const Outputs& outputs, const void* weights,
                    const void* next) const {
  const int64_t most_rows = takes_many_ ? kManyLinearRows : kLinearRows;
  // first wanted output of this panel
  const int64_t begin = std::max(outputs.first, index * kPanelOutputs);
  const int64_t stride = outputs.end - outputs.first;
  for (int64_t row = 0; row < call_.m; row += most_rows) {
    const LinearTask task{
        .panel = weights,
        .dtype = dtype_,
        .words = words_,
        .x = input_ + static_cast<size_t>(row * words_) * sizeof(uint32_t),
        .rows = static_cast<int>(std::min<int64_t>(most_rows, call_.m - row)),
        .bias = call_.bias != nullptr ? call_.bias + (begin - outputs.first) : nullptr,
        .skipped = static_cast<int>(begin - index * kPanelOutputs),
        .outputs = static_cast<int>(std::min((index + 1) * kPanelOutputs, outputs.end) - begin),
        .out = static_cast<char*>(call_.out) +
               static_cast<size_t>(row * stride + begin - outputs.first) * size_of(call_.out_dtype),
        .out_dtype = call_.out_dtype,
        .out_stride = stride,
        .accumulate = call_.accumulate,
        .next_panel = next,
        .fetch = fetch_};
    if (takes_many_) {
      linear_rows_avx512_bf16(task);
    } else if (has_bf16_dot_) {
      linear_panel_avx512_bf16(task);
    } else {
      linear_panel_f32(task, isa_);
    }
  }
}

}  // namespace reprise::kernels::cpu
