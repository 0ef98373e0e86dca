// Times the steps of kind "attention", and measures the machine's rates between the timed steps.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/json.h"
#include "core/device/context.h"
#include "experiments/kinds/attention/attention_samples.h"

namespace reprise::experiments {

// Times work by the host's clock on the CPU, and by the GPU's own clock on a GPU. Caches are
// emptied beforehand, so that the timed work reads its data from memory.
class AttentionClock {
 public:
  virtual ~AttentionClock() = default;

  // Called once before a turn's calls of us(). On the CPU it empties the caches; on a GPU, each
  // call of us() empties them. Returns the machine's rates, on a GPU without the memory rate, which
  // after() adds.
  [[nodiscard]] virtual MomentRates before(DType kv_dtype) = 0;
  // Runs `work`, one call of the turn, and returns its time in microseconds.
  [[nodiscard]] virtual double us(const std::function<void()>& work) = 0;
  // Called after a turn's calls of us(). Adds to `rates`, the result of before(), what it lacks.
  virtual void after(MomentRates& rates) = 0;
  // Runs `work` once with cold caches and returns its time in microseconds.
  [[nodiscard]] virtual double cold_us(const std::function<void()>& work) = 0;
  // Describes how the caches are emptied, for records.
  [[nodiscard]] virtual std::string caches() const = 0;
};

// The clock of the context's device. `machine` holds the facts and limits of the record.
std::unique_ptr<AttentionClock> make_attention_clock(const Context& context,
                                                     const Machine& machine);

}  // namespace reprise::experiments
