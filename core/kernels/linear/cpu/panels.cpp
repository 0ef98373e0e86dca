#include "core/kernels/linear/cpu/panels.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/linear/cpu/linear_task.h"
#include "core/kernels/linear/cpu/panel_rows.h"
#include "core/kernels/linear/cpu/tile_rows.h"

namespace reprise::kernels::cpu {
namespace {

// Transposes [64][words] (rows `stride` words apart) to [words][64], one cache line of each row at
// a time.
void pack_panel(const uint32_t* rows, int64_t stride, int64_t words, uint32_t* panel) {
  for (int64_t k0 = 0; k0 < words; k0 += 16) {
    const int64_t k1 = std::min(words, k0 + 16);
    for (int64_t row = 0; row < Panels::kOutputs; ++row)
      for (int64_t k = k0; k < k1; ++k) panel[k * Panels::kOutputs + row] = rows[row * stride + k];
  }
}

}  // namespace

Panels::Panels(int64_t rows, int64_t cols, WeightFormat format, const Weight::FillRows& fill,
               const Context& context)
    : WeightStore(rows, cols, format, context.device) {
  const DType dtype = source_dtype(format);
  words_ = panel_words(cols, dtype);
  data_ =
      Buffer(context.runtime, static_cast<size_t>(panels() * words_ * kOutputs) * sizeof(uint32_t));
  const size_t row_bytes = static_cast<size_t>(words_) * sizeof(uint32_t);
  const size_t filled_bytes = static_cast<size_t>(cols) * size_of(dtype);
  const auto workers = static_cast<size_t>(std::max(1, context.threads));
  std::vector<AlignedBuffer> padded(workers), raw(workers);
  for (AlignedBuffer& buffer : padded) buffer = AlignedBuffer(kOutputs * row_bytes);
  for (AlignedBuffer& buffer : raw) buffer = AlignedBuffer(kOutputs * filled_bytes);
  parallel_for(context, panels(), [&](int64_t index, int worker) {
    char* staged = padded[static_cast<size_t>(worker)].as<char>();
    char* source = raw[static_cast<size_t>(worker)].as<char>();
    const int64_t first = index * kOutputs, end = std::min(rows, first + kOutputs);
    fill(first, end, source);
    for (int64_t row = 0; row < kOutputs; ++row) {
      char* target = staged + static_cast<size_t>(row) * row_bytes;
      if (row < end - first) {
        std::memcpy(target, source + static_cast<size_t>(row) * filled_bytes, filled_bytes);
      } else {
        std::memset(target, 0, filled_bytes);
      }
    }
    pack_panel(reinterpret_cast<const uint32_t*>(staged), words_, words_,
               static_cast<uint32_t*>(data_.data()) + index * words_ * kOutputs);
  });
}

const void* Panels::panel(int64_t index) const {
  return static_cast<const uint32_t*>(data_.data()) + index * words_ * kOutputs;
}

void Panels::read_block(int64_t first_row, int64_t end_row, int64_t first_col, int64_t end_col,
                        float* out) const {
  for (int64_t row = first_row; row < end_row; ++row) {
    const int64_t column = row % kOutputs;
    if (format() == WeightFormat::kF32) {
      const auto* words = static_cast<const float*>(panel(row / kOutputs));
      for (int64_t k = first_col; k < end_col; ++k) *out++ = words[k * kOutputs + column];
    } else {
      const auto* values = static_cast<const bf16*>(panel(row / kOutputs));
      for (int64_t k = first_col; k < end_col; ++k)
        *out++ = values[(k / 2 * kOutputs + column) * 2 + k % 2];
    }
  }
}

void Panels::apply(const LinearCall& call, int64_t first, int64_t end, LinearWorkspace& workspace,
                   const Context& context) const {
  if (multiplies_in_tiles(input_dtype(), call.m, context))
    return multiply_in_tiles(call, {.first = first, .end = end}, workspace, context);
  stream(call, first, end, workspace, context);
}

void Panels::multiply_in_tiles(const LinearCall& call, const Outputs& outputs,
                               LinearWorkspace& workspace, const Context& context) const {
  const int64_t block = TileRows::most_inputs(call.out_dtype, cols());
  for (int64_t first = 0; first < cols(); first += block) {
    const TileRows rows(call,
                        {.cols = cols(), .first = first, .end = std::min(first + block, cols())},
                        workspace, context);
    // The rows of a part are multiplied with all panels before the next part begins.
    parallel_for(context, outputs.panels() * rows.parts(), [&](int64_t item, int) {
      const int64_t part = item / outputs.panels(), at = item % outputs.panels();
      const auto weights = [&](int64_t ahead) {
        const int64_t index = outputs.first_panel() + std::min(at + ahead, outputs.panels() - 1);
        return static_cast<const char*>(panel(index)) +
               static_cast<size_t>(first / 2 * kOutputs) * 4;
      };
      rows.run(part, outputs.first_panel() + at, outputs, weights(0), weights(context.threads));
    });
  }
}

void Panels::stream(const LinearCall& call, int64_t first, int64_t end, LinearWorkspace& workspace,
                    const Context& context) const {
  // With more than kStreamedRows and up to kBatchRows rows, threads take runs of consecutive
  // panels, which are read fastest where memory is the limit. In all other products they take
  // panels one by one, so that they end at about the same time.
  const Outputs outputs{.first = first, .end = end};
  const PanelRows rows(call, cols(), input_dtype(), outputs.panels(), workspace, context);
  const int64_t run = call.m > LinearCall::kStreamedRows && call.m <= kBatchRows
                          ? panels_per_run(context, outputs)
                          : 1;
  // The rows of a part are multiplied with all panels before the next part begins, so that the rows
  // can stay in a cache.
  if (rows.parts() > 1)
    return parallel_for(context, outputs.panels() * rows.parts(), [&](int64_t item, int) {
      const auto index = [&](int64_t i) { return outputs.first_panel() + i % outputs.panels(); };
      rows.run(item / outputs.panels(), index(item), outputs, panel(index(item)),
               panel(index(item + context.threads)));
    });
  for_panels(context, outputs, run, call.m * (end - first) * cols(), [&](int64_t index, int) {
    const int64_t next = index + (run > 1 ? 1 : context.threads);
    rows.run(0, index, outputs, panel(index), panel(std::min(next, outputs.end_panel() - 1)));
  });
}

}  // namespace reprise::kernels::cpu
