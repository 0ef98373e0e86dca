#include "core/kernels/linear/cpu/panel_rows.h"

#include <algorithm>
#include <cstring>

#include "core/kernels/linear/cpu/linear_task.h"

namespace reprise::kernels::cpu {
int64_t panel_words(int64_t cols, DType dtype) {
  const int64_t per_word = dtype == DType::kF32 ? 1 : 2;
  const int64_t unit = 16 * per_word;
  return (cols + unit - 1) / unit * unit / per_word;
}

LinearTask task_of_outputs(const LinearCall& call, const Outputs& outputs, int64_t index,
                           int64_t row, int64_t rows) {
  // first wanted output of this panel
  const int64_t begin = std::max(outputs.first, index * kPanelOutputs);
  const int64_t stride = outputs.end - outputs.first;
  return {
      .rows = static_cast<int>(rows),
      .bias = call.bias != nullptr ? call.bias + (begin - outputs.first) : nullptr,
      .skipped = static_cast<int>(begin - index * kPanelOutputs),
      .outputs = static_cast<int>(std::min((index + 1) * kPanelOutputs, outputs.end) - begin),
      .out = static_cast<char*>(call.out) +
             static_cast<size_t>(row * stride + begin - outputs.first) * size_of(call.out_dtype),
      .out_dtype = call.out_dtype,
      .out_stride = stride,
      .accumulate = call.accumulate};
}

int64_t panels_per_run(const Context& context, const Outputs& outputs) {
  constexpr int64_t kRunsPerThread = 8;
  return std::max<int64_t>(1, outputs.panels() / (kRunsPerThread * std::max(1, context.threads)));
}

const char* input_rows(const LinearCall& call, const InputRows& rows, LinearWorkspace& workspace,
                       const Context& context) {
  if (rows.from == rows.to && rows.cols == rows.inputs) return static_cast<const char*>(call.x);
  const size_t x_bytes = static_cast<size_t>(rows.cols) * size_of(rows.from);
  const size_t row_bytes = static_cast<size_t>(rows.inputs) * size_of(rows.to);
  const size_t needed = static_cast<size_t>(call.m) * row_bytes;
  if (workspace.padded_input.bytes() < needed) workspace.padded_input = AlignedBuffer(needed);
  const auto copy = [&](int64_t row, int) {
    char* target = workspace.padded_input.as<char>() + static_cast<size_t>(row) * row_bytes;
    const size_t filled = static_cast<size_t>(rows.cols) * size_of(rows.to);
    convert(static_cast<const char*>(call.x) + static_cast<size_t>(row) * x_bytes, rows.from,
            target, rows.to, static_cast<size_t>(rows.cols));
    std::memset(target + filled, 0, row_bytes - filled);
  };
  copy_items(context, call.m, call.m * rows.inputs, copy);
  return workspace.padded_input.as<char>();
}

int64_t l2_bytes() {
  constexpr int64_t kUnknown = int64_t{1} << 20;
  return cpu_facts().l2_bytes > 0 ? cpu_facts().l2_bytes : kUnknown;
}

bool streams_batches(DType dtype, const Context& context) {
  return dtype == DType::kBF16 && has_bf16_dot(context.isa);
}

bool multiplies_in_tiles(DType dtype, int64_t m, const Context& context) {
  return dtype == DType::kBF16 && context.isa == Isa::kAmx && (m > 1 || context.is_batch_invariant);
}

WeightFetch Context::*plain_fetch(DType dtype, int64_t m) {
  if (dtype != DType::kBF16) return &Context::weights_f32;
  if (m <= LinearCall::kStreamedRows) return &Context::weights_bf16;
  return m <= kBatchRows ? &Context::batch_bf16 : &Context::large_batch_bf16;
}

namespace {

// True if threads that take items of equal length one by one are busy for 0.9 of the time.
bool keep_busy(int64_t items, int64_t threads) {
  const int64_t rounds = (items + threads - 1) / threads;
  return 10 * items >= 9 * rounds * threads;
}

// Returns the number of rows of each part, at most `most`. The parts are the fewest with which the
// threads are busy; if there is no such number, there are as many as kLeastRows allows. (Zen 4,
// bf16, weights from memory: 32 rows are multiplied at 0.98 of the rate of 64 rows, 40 rows at
// 0.99.)
int64_t rows_of_part(int64_t m, int64_t most, int64_t panels, const Context& context) {
  constexpr int64_t kLeastRows = 48;
  const int64_t threads = std::max(1, context.threads);
  int64_t parts = (m + most - 1) / most;
  if (panels > 0)
    while (m / (parts + 1) >= kLeastRows && !keep_busy(panels * parts, threads)) ++parts;
  return (m + parts - 1) / parts;
}

// A block of weights takes an eighth of the L2, which also holds the next block (prefetched) and
// the sums, perhaps for two threads. (Zen 4, L2 of 1 MiB: with blocks of 32 KiB, 32 rows take 1.05
// times as long; with blocks of 256 KiB as long.)
constexpr int64_t kBlocksOfL2 = 8, kWordBytes = kPanelOutputs * int64_t{sizeof(uint32_t)};

}  // namespace

PanelRows::PanelRows(const LinearCall& call, int64_t cols, DType dtype, int64_t panels,
                     LinearWorkspace& workspace, const Context& context)
    : call_(call),
      dtype_(dtype),
      words_(panel_words(cols, dtype)),
      isa_(context.isa),
      fetch_(context.*plain_fetch(dtype, call.m)),
      has_bf16_dot_(dtype == DType::kBF16 && has_bf16_dot(context.isa)),
      takes_many_(has_bf16_dot_ &&
                  (call.m > LinearCall::kStreamedRows || context.is_batch_invariant)),
      part_rows_(rows_of_part(call.m,
                              takes_many_     ? kMostRowsBF16
                              : has_bf16_dot_ ? kLinearRows
                                              : kMostRowsF32,
                              panels, context)),
      block_words_(std::max<int64_t>(64, l2_bytes() / kBlocksOfL2 / kWordBytes / 4 * 4)),
      input_dtype_(has_bf16_dot_ ? DType::kBF16 : DType::kF32),
      inputs_(words_ * (dtype == DType::kF32 ? 1 : 2)),
      input_(input_rows(call, {.cols = cols, .inputs = inputs_, .from = dtype, .to = input_dtype_},
                        workspace, context)) {}

void PanelRows::run(int64_t part, int64_t index, const Outputs& outputs, const void* weights,
                    const void* next) const {
  const int64_t row = part * part_rows_;
  LinearTask task =
      task_of_outputs(call_, outputs, index, row, std::min(part_rows_, call_.m - row));
  task.panel = weights;
  task.dtype = dtype_;
  task.words = words_;
  task.block_words = block_words_;
  task.x = input_ + static_cast<size_t>(row * inputs_) * size_of(input_dtype_);
  task.next_panel = next;
  task.fetch = fetch_;
  if (takes_many_) {
    linear_rows_avx512_bf16(task);
  } else if (has_bf16_dot_) {
    linear_panel_avx512_bf16(task);
  } else {
    linear_panel_f32(task, isa_);
  }
}

}  // namespace reprise::kernels::cpu
