// Panels of plain weights against the input rows of a call, one panel at a time, by the kernels of
// our own.
#pragma once

#include <cstdint>

#include "core/device/context.h"
#include "core/kernels/linear/linear.h"

namespace reprise::kernels::cpu {

inline constexpr int64_t kPanelOutputs = 64;

// The depth of panels over `cols` inputs, which are padded with zeros to 16 (f32) or 32 (bf16), in
// words of 32 bits: an f32, or two bf16.
[[nodiscard]] int64_t panel_words(int64_t cols, DType dtype);

// Which outputs of a matrix a call wants: [first, end).
struct Outputs {
  int64_t first = 0, end = 0;

  [[nodiscard]] int64_t first_panel() const { return first / kPanelOutputs; }
  [[nodiscard]] int64_t end_panel() const { return (end + kPanelOutputs - 1) / kPanelOutputs; }
  [[nodiscard]] int64_t panels() const { return end_panel() - first_panel(); }
};

// Calls fn(panel, worker) for every panel of the outputs, `run` panels that follow one another by
// one thread. Forking costs a few microseconds: `products` that a core does in that time stay on
// one.
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

// Panels per item where memory is the limit, which is read fastest where a thread takes panels that
// follow one another, and yet threads end together.
[[nodiscard]] int64_t panels_per_run(const Context& context, const Outputs& outputs);

class PanelRows {
 public:
  // x [m, cols] of the call is in `dtype`; where panels are deeper than cols, a padded copy of it
  // is made in `workspace`. The call must outlive this.
  PanelRows(const LinearCall& call, int64_t cols, DType dtype, LinearWorkspace& workspace,
            const Context& context);

  // Whether rows beyond LinearCall::kStreamedRows are multiplied as they come from memory, up to 64
  // at once.
  [[nodiscard]] bool takes_many() const { return takes_many_; }
  // Writes the panel's share of the wanted outputs, all rows. `weights` are those of panel `index`,
  // [words][64] f32 or [words][64][2] bf16; `next` those that this thread is likely to take next.
  void run(int64_t index, const Outputs& outputs, const void* weights, const void* next) const;

 private:
  const LinearCall& call_;
  DType dtype_;
  int64_t words_;
  Isa isa_;
  bool has_bf16_dot_, takes_many_;
  const char* input_;  // [m, words]
};

// The rows of a call, each padded with zeros to `row_bytes` in `workspace`, or as they are where
// that is their size.
[[nodiscard]] const char* padded_rows(const LinearCall& call, size_t x_bytes, size_t row_bytes,
                                      LinearWorkspace& workspace);

}  // namespace reprise::kernels::cpu
