// Multiplies the input rows of a call with plain weights (not codes), one panel at a time.
#pragma once

#include <cstdint>

#include "core/device/context.h"
#include "core/kernels/linear/linear.h"

namespace reprise::kernels::cpu {

inline constexpr int64_t kPanelOutputs = 64;

// Number of 32-bit words (one f32, or two bf16) that a panel has for each output if the matrix has
// `cols` inputs. Inputs are padded with zeros to a multiple of 16 (f32) or 32 (bf16).
[[nodiscard]] int64_t panel_words(int64_t cols, DType dtype);

// The outputs of a matrix that a call wants: [first, end).
struct Outputs {
  int64_t first = 0, end = 0;

  [[nodiscard]] int64_t first_panel() const { return first / kPanelOutputs; }
  [[nodiscard]] int64_t end_panel() const { return (end + kPanelOutputs - 1) / kPanelOutputs; }
  [[nodiscard]] int64_t panels() const { return end_panel() - first_panel(); }
};

// Calls fn(panel, worker) for every panel of `outputs`; a thread takes `run` consecutive panels at
// a time. `products` is the number of multiplications in all. If it is so small that starting the
// other threads would take as long (a few microseconds), the calling thread takes all panels.
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

// Returns the number of rows of each part if `rows` rows are divided into the fewest parts of at
// most `most` rows.
[[nodiscard]] constexpr int64_t equal_parts(int64_t rows, int64_t most) {
  const int64_t parts = (rows + most - 1) / most;
  return (rows + parts - 1) / parts;
}

// Calls copy(item, worker) for every item; the items have `values` values in all. The calling
// thread alone copies few values, because starting the other threads would take longer.
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
// Makes the LinearTask that computes rows [row, row + rows) of the call, for those of `outputs`
// that are in panel `index`. Sets the task's bias and output fields; the caller sets its weights
// and inputs.
[[nodiscard]] LinearTask task_of_outputs(const LinearCall& call, const Outputs& outputs,
                                         int64_t index, int64_t row, int64_t rows);

// Number of consecutive panels that a thread takes at a time if memory is the limit. Long runs are
// read fastest, but short runs let the threads end at about the same time.
[[nodiscard]] int64_t panels_per_run(const Context& context, const Outputs& outputs);

// Bytes of a core's L2, or 1 MiB if they are unknown.
[[nodiscard]] int64_t l2_bytes();

// True if linear_rows_avx512_bf16() multiplies plain weights of `dtype` with many rows.
[[nodiscard]] bool streams_batches(DType dtype, const Context& context);
// True if plain weights are multiplied with m rows in AMX's tiles. A single row is faster without
// tiles, but its bits then differ from those of a row computed in tiles.
[[nodiscard]] bool multiplies_in_tiles(DType dtype, int64_t m, const Context& context);
// The field of Context with the prefetch setting for plain weights in a product of m rows.
[[nodiscard]] WeightFetch Context::*plain_fetch(DType dtype, int64_t m);

// Multiplies without AMX's tiles, for calls for which multiplies_in_tiles() is false.
class PanelRows {
 public:
  // The call's x [m, cols] is in `dtype`. If panels are padded to more inputs than `cols`, makes a
  // padded copy of x in `workspace`. `panels` is the number of panels whose parts the threads
  // share, or 0 if one thread computes all parts of a panel. The call must outlive this object.
  PanelRows(const LinearCall& call, int64_t cols, DType dtype, int64_t panels,
            LinearWorkspace& workspace, const Context& context);

  // Number of parts into which the rows are divided. The bits of the outputs do not depend on it.
  [[nodiscard]] int64_t parts() const { return (call_.m + part_rows_ - 1) / part_rows_; }
  // Computes, for the rows of a part, the outputs in `outputs` that belong to panel `index`.
  // `weights` is this panel, [words][64] f32 or [words][64][2] bf16. `next` is the panel that this
  // thread will probably take next.
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
  int64_t block_words_;
  DType input_dtype_;  // dtype of the kernel's input
  int64_t inputs_;     // cols plus padding
  const char* input_;  // [m, inputs]
};

// The form in which a kernel takes the inputs of a call: rows of `inputs` values of dtype `to`,
// zero beyond `cols`. The call's x is [m, cols] of dtype `from`.
struct InputRows {
  int64_t cols = 0, inputs = 0;
  DType from = DType::kF32, to = DType::kF32;
};
// Returns the call's own rows if they already have this form, else a copy in `workspace`.
[[nodiscard]] const char* input_rows(const LinearCall& call, const InputRows& rows,
                                     LinearWorkspace& workspace, const Context& context);

}  // namespace reprise::kernels::cpu
