#include "core/kernels/cpu/panels.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/cpu/linear_task.h"
#include "core/kernels/cpu/tiled_product.h"

namespace reprise::kernels::cpu {
namespace {

constexpr int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Transposes [64][words] (rows `stride` words apart) into [words][64], a cache line of each row at
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
  const DType dtype = input_dtype(format);
  const int64_t per_word = dtype == DType::kF32 ? 1 : 2;
  words_ = round_up(cols, 16 * per_word) / per_word;
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

bool Panels::has_many_rows(const Context& context) const {
  return format() == WeightFormat::kBF16 && context.isa == Isa::kAvx512Bf16;
}

void Panels::apply(const LinearCall& call, int64_t first, int64_t end, LinearWorkspace& workspace,
                   const Context& context) const {
  // A product that uses AMX computes faster than ours, at any number of rows.
  const int64_t ours =
      has_many_rows(context) && !product_uses_amx() ? kManyLinearRows : LinearCall::kStreamedRows;
  if (call.m > ours && multiply(call, first, end, workspace, context)) return;
  stream(call, first, end, workspace, context);
}

bool Panels::multiply(const LinearCall& call, int64_t first, int64_t end,
                      LinearWorkspace& workspace, const Context& context) const {
  // oneDNN has its own dispatch; a weaker instruction set asked for by the context must not be
  // bypassed.
  const DType dtype = input_dtype(format());
  if (context.isa < (dtype == DType::kBF16 ? Isa::kAvx512Bf16 : Isa::kAvx512)) return false;
  if (first % kOutputs != 0) return false;  // a product begins at a panel
  const int64_t outputs = end - first;
  const TiledProduct product(call, outputs, cols(), dtype, *workspace.products);
  if (!product.is_fast()) return false;
  workspace.tiles.resize(
      std::max(workspace.tiles.size(), static_cast<size_t>(std::max(1, context.threads))));
  parallel_for(context, product.tiles(), [&](int64_t tile, int worker) {
    const int64_t first_output = product.first_output(tile);
    product.run(tile, panel((first + first_output) / kOutputs),
                workspace.tiles[static_cast<size_t>(worker)]);
  });
  return true;
}

const char* Panels::padded_input(const LinearCall& call, LinearWorkspace& workspace) const {
  const size_t row_bytes = static_cast<size_t>(words_) * sizeof(uint32_t);
  const size_t x_bytes = static_cast<size_t>(cols()) * size_of(input_dtype(format()));
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

void Panels::stream(const LinearCall& call, int64_t first, int64_t end, LinearWorkspace& workspace,
                    const Context& context) const {
  const size_t row_bytes = static_cast<size_t>(words_) * sizeof(uint32_t);
  const DType dtype = input_dtype(format());
  const char* input = padded_input(call, workspace);
  const bool has_many = has_many_rows(context) && call.m > LinearCall::kStreamedRows;
  const int64_t most_rows = has_many ? kManyLinearRows : kLinearRows;
  const int64_t first_panel = first / kOutputs, end_panel = (end + kOutputs - 1) / kOutputs;
  // Of a dozen rows memory is the limit, and is read fastest where a thread takes panels that
  // follow one another; of more the arithmetic is, and threads end together if they take panels one
  // by one.
  constexpr int64_t kMemoryBoundRows = 24, kRunsPerThread = 8;
  const int64_t panels = end_panel - first_panel;
  const int64_t run =
      has_many && call.m <= kMemoryBoundRows
          ? std::max<int64_t>(1, panels / (kRunsPerThread * std::max(1, context.threads)))
          : 1;
  const auto run_panel = [&](int64_t index) {
    const int64_t begin = std::max(first, index * kOutputs);  // of the panel's wanted outputs
    for (int64_t row = 0; row < call.m; row += most_rows) {
      const LinearTask task{
          .panel = panel(index),
          .dtype = dtype,
          .words = words_,
          .x = input + static_cast<size_t>(row) * row_bytes,
          .rows = static_cast<int>(std::min<int64_t>(most_rows, call.m - row)),
          .bias = call.bias != nullptr ? call.bias + (begin - first) : nullptr,
          .skipped = static_cast<int>(begin - index * kOutputs),
          .outputs = static_cast<int>(std::min((index + 1) * kOutputs, end) - begin),
          .out = static_cast<char*>(call.out) +
                 static_cast<size_t>(row * (end - first) + begin - first) * size_of(call.out_dtype),
          .out_dtype = call.out_dtype,
          .out_stride = end - first,
          .accumulate = call.accumulate,
          .next_panel = panel(std::min(index + (run > 1 ? 1 : context.threads), end_panel - 1))};
      if (has_many) {
        linear_rows_avx512_bf16(task);
      } else if (has_many_rows(context)) {
        linear_panel_avx512_bf16(task);
      } else {
        linear_panel_f32(task, context.isa);
      }
    }
  };
  const auto run_item = [&](int64_t item, int) {
    const int64_t begin = first_panel + item * run;
    for (int64_t i = begin; i < std::min(begin + run, end_panel); ++i) run_panel(i);
  };
  const int64_t items = (panels + run - 1) / run;
  // Forking costs a few microseconds: what a core does in that time stays on one.
  constexpr int64_t kSerialProducts = 1 << 17;
  if (call.m * (end - first) * cols() <= kSerialProducts) {
    for (int64_t item = 0; item < items; ++item) run_item(item, 0);
  } else {
    parallel_for(context, items, run_item);
  }
}

}  // namespace reprise::kernels::cpu
