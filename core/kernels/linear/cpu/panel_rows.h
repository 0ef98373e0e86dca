// Multiplies the input rows of a call with panels of plain weights, one panel at a time, without
// oneDNN.
#pragma once

#include <cstdint>

#include "core/device/context.h"
#include "core/kernels/linear/linear.h"

namespace reprise::kernels::cpu {

inline constexpr int64_t kPanelOutputs = 64;

// Depth of panels over `cols` inputs in words of 32 bits (an f32, or two bf16). Inputs are padded
// with zeros to a multiple of 16 (f32) or 32 (bf16).
[[nodiscard]] int64_t panel_words(int64_t cols, DType dtype);

// The outputs of a matrix that a call wants: [first, end).
struct Outputs {
  int64_t first = 0, end = 0;

  [[nodiscard]] int64_t first_panel() const { return first / kPanelOutputs; }
  [[nodiscard]] int64_t end_panel() const { return (end + kPanelOutputs - 1) / kPanelOutputs; }
  [[nodiscard]] int64_t panels() const { return end_panel() - first_panel(); }
};

// Calls fn(panel, worker) for every panel of the outputs; a thread takes `run` consecutive panels
// at a time. `products` is the number of multiplications: if one core does them in the few
// microseconds that starting the other threads takes, one thread takes all panels.
template <typename Fn>
void for_panels(const Context& context, const Outputs& outputs, int64_t run, int64_t products,
                Fn&& fn) {
  constexpr int64_t kSerialProducts = 1 << 17;
  const auto run_item = [&](int64_t item, int worker) {
    const int64_t begin = outputs.first_panel() + item * run;
    const int64_t end = begin + run < outputs.end_panel() ? begin + run : outputs.end_panel();
    for (int64_t panel = begin; panel < end; ++panel) fn(panel, worker);
  };
  const int64_t items = (outputs.panels() + run - 1) / run;
  if (products <= kSerialProducts) {
    for (int64_t item = 0; item < items; ++item) run_item(item, 0);
  } else {
    parallel_for(context, items, run_item);
  }
}

// Rows of each part if `rows` rows are divided into the fewest parts of at most `most` rows.
[[nodiscard]] constexpr int64_t equal_parts(int64_t rows, int64_t most) {
  const int64_t parts = (rows + most - 1) / most;
  return (rows + parts - 1) / parts;
}

// Calls copy(item, worker) for every item. Few values are copied by the calling thread alone, which
// takes less time than starting the other threads.
template <typename Fn>
void copy_items(const Context& context, int64_t items, int64_t values, Fn&& copy) {
  constexpr int64_t kSerialValues = 1 << 16;
  if (values > kSerialValues) {
    parallel_for(context, items, copy);
  } else {
    for (int64_t item = 0; item < items; ++item) copy(item, 0);
  }
}

struct LinearTask;
// Makes the LinearTask that computes rows [row, row + rows) of the call, for the wanted outputs in
// panel `index`. Sets the task's bias and output fields; the caller sets its weights and inputs.
[[nodiscard]] LinearTask task_of_outputs(const LinearCall& call, const Outputs& outputs,
                                         int64_t index, int64_t row, int64_t rows);

// Panels per item if memory is the limit: consecutive panels are read fastest, but threads should
// end together.
[[nodiscard]] int64_t panels_per_run(const Context& context, const Outputs& outputs);

// True if the streaming kernels take plain weights with up to 64 rows, not only up to
// LinearCall::kStreamedRows.
[[nodiscard]] bool streams_batches(DType dtype, const Context& context);
// True if plain weights are multiplied with m rows in AMX's tiles; a single row is faster without
// tiles, but then has other bits.
[[nodiscard]] bool multiplies_in_tiles(DType dtype, int64_t m, const Context& context);
// The prefetch of plain weights in a product of m rows.
[[nodiscard]] WeightFetch Context::*plain_fetch(DType dtype, int64_t m);

// Multiplies without AMX's tiles: for calls where multiplies_in_tiles() is false.
class PanelRows {
 public:
  // The call's x [m, cols] is in `dtype`; if panels are deeper than cols, a padded copy is made in
  // `workspace`. The call must outlive this object.
  PanelRows(const LinearCall& call, int64_t cols, DType dtype, LinearWorkspace& workspace,
            const Context& context);

  // Number of parts into which the rows are divided; it does not depend on the number of threads.
  [[nodiscard]] int64_t parts() const { return (call_.m + part_rows_ - 1) / part_rows_; }
  // Writes, for the rows of a part, the wanted outputs that belong to panel `index`. `weights` is
  // this panel, [words][64] f32 or [words][64][2] bf16; `next` the one that this thread will
  // probably take next.
  void run(int64_t part, int64_t index, const Outputs& outputs, const void* weights,
           const void* next) const;

 private:
  const LinearCall& call_;
  DType dtype_;
  int64_t words_;
  Isa isa_;
  WeightFetch fetch_;
  bool has_bf16_dot_, takes_many_;
  int64_t part_rows_;
  DType input_dtype_;  // dtype of the kernel's input
  int64_t inputs_;     // cols plus padding
  const char* input_;  // [m, inputs]
};

// The form in which a kernel takes the inputs of a call whose x is [m, cols] of `from`: rows of
// `inputs` values of `to`, zero beyond cols.
struct InputRows {
  int64_t cols = 0, inputs = 0;
  DType from = DType::kF32, to = DType::kF32;
};
// Returns the call's own rows if they already have this form, else a copy in `workspace`.
[[nodiscard]] const char* input_rows(const LinearCall& call, const InputRows& rows,
                                     LinearWorkspace& workspace, const Context& context);

}  // namespace reprise::kernels::cpu
