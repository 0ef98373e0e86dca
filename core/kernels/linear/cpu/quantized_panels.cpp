#include "core/kernels/linear/cpu/quantized_panels.h"

#include <algorithm>
#include <cstring>

#include "core/kernels/linear/cpu/coded_rows.h"
#include "core/kernels/linear/cpu/panel_rows.h"
#include "core/kernels/linear/cpu/tile_rows.h"

namespace reprise::kernels::cpu {

QuantizedPanels::QuantizedPanels(int64_t rows, int64_t cols, WeightType type,
                                 const Weight::FillRows& fill, const Context& context)
    : WeightStore(rows, cols, type, context.device),
      matrix_(rows, cols, type.format, fill, context) {}

void QuantizedPanels::read_block(int64_t first_row, int64_t end_row, int64_t first_col,
                                 int64_t end_col, float* out) const {
  for (int64_t row = first_row; row < end_row; ++row)
    for (int64_t col = first_col; col < end_col; ++col) *out++ = matrix_.value_at(row, col);
}

// Time of a product relative to plain bf16 weights, by number of rows. (Matrix [11264, 2048] from
// memory, one thread of an AMD EPYC with AVX512-BF16 that also ran other programs.)
//   rows    1     4     8
//   int4  0.29  0.42  0.60
//   int8  0.51  0.60  0.84
// With more rows computing is the limit, and decoding takes part of the computing time: see
// quantized_avx512_bf16.cpp. With expanded panels, 128 rows take 1.05 (int4) or 1.08 (int8).
void QuantizedPanels::apply(const LinearCall& call, int64_t first, int64_t end,
                            LinearWorkspace& workspace, const Context& context) const {
  const Outputs outputs{.first = first, .end = end};
  const bool has_many = takes_many_coded_rows(input_dtype(), context) && context.isa != Isa::kAmx;
  if (context.is_batch_invariant ||
      call.m <= (has_many ? LinearCall::kManyCodedRows : LinearCall::kCodedRows))
    return stream(call, outputs, workspace, context);
  expand(call, outputs, workspace, context);
}

void QuantizedPanels::stream(const LinearCall& call, const Outputs& outputs,
                             LinearWorkspace& workspace, const Context& context) const {
  const CodedShape shape{.type = {format(), input_dtype()},
                         .cols = cols(),
                         .inputs = matrix_.inputs(),
                         .group_inputs = matrix_.group_inputs()};
  const CodedRows rows(call, shape, workspace, context);
  for_panels(context, outputs, panels_per_run(context, outputs),
             call.m * (outputs.end - outputs.first) * cols(),
             [&](int64_t index, int) { rows.run(index, outputs, matrix_.panel(index)); });
}

void QuantizedPanels::expand_to(int64_t index, void* out, Isa isa) const {
  const int64_t words = panel_words(cols(), input_dtype());
  const bool is_bf16 = input_dtype() == DType::kBF16;
  expand_panel(matrix_.panel(index), words * (is_bf16 ? 2 : 1), input_dtype(), out, isa);
  // Zeroes the weights of padding inputs, because a product may read them, and the values of their
  // codes need not be 0.
  auto* rows = static_cast<uint32_t*>(out);
  int64_t filled = cols();  // words
  if (is_bf16) {
    filled = cols() / 2;
    if (cols() % 2 != 0) {
      for (int64_t i = 0; i < kPanelOutputs; ++i) rows[filled * kPanelOutputs + i] &= 0xffffu;
      ++filled;
    }
  }
  std::memset(rows + filled * kPanelOutputs, 0,
              static_cast<size_t>((words - filled) * kPanelOutputs) * sizeof(uint32_t));
}

void QuantizedPanels::expand(const LinearCall& call, const Outputs& outputs,
                             LinearWorkspace& workspace, const Context& context) const {
  const auto panel_bytes =
      static_cast<size_t>(panel_words(cols(), input_dtype()) * kPanelOutputs) * sizeof(uint32_t);
  workspace.expanded.resize(
      std::max(workspace.expanded.size(), static_cast<size_t>(std::max(1, context.threads))));
  const auto multiply = [&](const auto& rows) {
    const auto run_panel = [&](int64_t index, int worker) {
      AlignedBuffer& weights = workspace.expanded[static_cast<size_t>(worker)];
      if (weights.bytes() < panel_bytes) weights = AlignedBuffer(panel_bytes);
      expand_to(index, weights.data(), context.isa);
      for (int64_t part = 0; part < rows.parts(); ++part)
        rows.run(part, index, outputs, weights.data(), weights.data());
    };
    for_panels(context, outputs, /*run=*/1, call.m * (outputs.end - outputs.first) * cols(),
               run_panel);
  };
  if (multiplies_in_tiles(input_dtype(), call.m, context))
    return multiply(
        TileRows(call, {.cols = cols(), .first = 0, .end = cols()}, workspace, context));
  multiply(PanelRows(call, cols(), input_dtype(), /*panels=*/0, workspace, context));
}

}  // namespace reprise::kernels::cpu
