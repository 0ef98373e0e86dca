// This project's engine as the target of a serving run. It is stepped in the caller's thread, by
// the run's clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/device/operation_log.h"
#include "core/engine/engine.h"
#include "core/engine/step_time_model.h"
#include "core/model/config/config.h"
#include "experiments/serving/clock.h"
#include "experiments/serving/target.h"

namespace reprise::experiments {

// Converts a step report; times are seconds of the engine's clock. context_tokens stays 0, because
// the report does not contain it.
[[nodiscard]] serving::StepEntry step_entry_of(const engine::StepReport& step);
[[nodiscard]] serving::Outcome outcome_of(engine::FinishReason finish);

// Most operations of one run that a trace keeps. They take about 12 MB of the trace's file.
inline constexpr size_t kMostTracedOperations = size_t{1} << 17;
// Converts the operations that began after `start_s`, the start of a run by the steady clock.
[[nodiscard]] std::vector<serving::KernelEntry> kernel_entries_of(const OperationLog& operations,
                                                                  double start_s);

// `engine` and `clock` must outlive this object and have the same time: EngineOptions::clock_ns
// returns the time of `clock` in nanoseconds.
class EngineTarget final : public serving::Target {
 public:
  // `config` is the engine's model. If `virtual_clock` is not null, `clock` must read it, and
  // advance() moves it forwards instead of sleeping.
  EngineTarget(engine::Engine& engine, const model::ModelConfig& config,
               const serving::Clock& clock, engine::VirtualClock* virtual_clock = nullptr)
      : engine_(engine),
        most_context_(config.sliding_window > 0 ? config.sliding_window
                                                : std::numeric_limits<int64_t>::max()),
        clock_(clock),
        virtual_clock_(virtual_clock) {}

  // Drops the declared prefixes. Returns false if the method still keeps states of other tokens.
  bool flush() override;
  void declare_prefix(const workloads::DeclaredPrefix& prefix) override;
  void submit(int64_t id, workloads::ServingRequest request, double intended_s) override;
  // Throws Error if a prefix does not fit into the cache.
  void advance(double until_s, serving::TargetReport& report) override;
  [[nodiscard]] bool has_work() const override { return engine_.has_work(); }
  void cancel_all() override;

 private:
  void add_event(const engine::TokenEvent& event, serving::TargetReport& report);
  void add_step(const engine::StepReport& step, serving::TargetReport& report);
  void wait_until(double until_s) const;

  engine::Engine& engine_;
  int64_t most_context_;  // keys that a row can see
  const serving::Clock& clock_;
  engine::VirtualClock* virtual_clock_;
  std::vector<std::string> prefixes_;
  // Running requests, and the number of prompt and generated tokens of each.
  std::unordered_map<engine::RequestId, int64_t> lengths_;
};

}  // namespace reprise::experiments
