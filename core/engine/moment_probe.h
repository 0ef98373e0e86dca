// What the machine does in this moment: a limit measured beside a piece of work.
#pragma once

#include "core/base/buffer.h"
#include "core/base/threads.h"

namespace reprise::engine {

struct MomentRates {
  double dram_read_gb_s = 0;
  double gflop_s = 0;
};

// A probe at start-up meets other neighbours and, after a rest, other clock rates than the work
// that is judged by it. So a moment of the limit is measured beside each piece of work, and the
// share of the limit is the median of the ratios, pair by pair. Reading several times the
// last-level cache also leaves nothing of what was there before: the work that follows finds its
// data in memory, as a layer of a model does after the weights of the one before.
class MomentProbe {
 public:
  // `in_bf16`: the rate of bf16 dot products, where the processor has them, else of f32.
  MomentProbe(const Context& context, bool in_bf16);

  // Some 10 ms.
  [[nodiscard]] MomentRates measure() const;
  // Reads the whole buffer once, on all threads; GB/s.
  [[nodiscard]] double read_gb_s() const;
  // Arithmetic in registers, on all threads.
  [[nodiscard]] double gflop_s() const;
  [[nodiscard]] size_t buffer_bytes() const { return buffer_.bytes(); }

 private:
  Context context_;
  bool in_bf16_;
  AlignedBuffer buffer_;
};

}  // namespace reprise::engine
