// What times the steps of kind "attention", and what the machine reaches beside them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/json.h"
#include "core/device/context.h"
#include "experiments/kinds/attention/attention_samples.h"

namespace reprise::experiments {

// Of the CPU by the host's clock, of a GPU by its own. Every timed call finds its data in memory,
// not in caches.
class AttentionClock {
 public:
  virtual ~AttentionClock() = default;

  // Before the calls of a turn: empties the caches. What the machine reaches in this moment, as far
  // as it is known now.
  [[nodiscard]] virtual MomentRates before(DType kv_dtype) = 0;
  // Microseconds of one of the turn's calls.
  [[nodiscard]] virtual double us(const std::function<void()>& work) = 0;
  // After them: completes `rates`.
  virtual void after(MomentRates& rates) = 0;
  // Microseconds of a call by itself.
  [[nodiscard]] virtual double cold_us(const std::function<void()>& work) = 0;
  // How caches are emptied, for records.
  [[nodiscard]] virtual std::string caches() const = 0;
};

// Of the context's device; `machine` are the facts and limits of its record.
std::unique_ptr<AttentionClock> make_attention_clock(const Context& context, const Json& machine);

}  // namespace reprise::experiments
