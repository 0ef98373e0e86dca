// A model of a step's time in the network's place: the scheduler, the methods and their plans
// alone, on a clock of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/engine/step_executor.h"

namespace reprise::engine {

// Stands still between steps. EngineOptions::clock_ns reads it; whoever drives the engine moves it
// to the next arrival where nothing is left to do.
class VirtualClock {
 public:
  [[nodiscard]] int64_t now_ns() const { return now_ns_; }
  void advance_by(int64_t ns) { now_ns_ += ns; }
  void advance_to(int64_t ns) { now_ns_ = ns > now_ns_ ? ns : now_ns_; }

 private:
  int64_t now_ns_ = 0;
};

// seconds = step_s + row_s * rows + context_token_s * tokens that the plan's work items read. What
// an item reads for several rows counts once, as attention reads it once where memory is the limit.
struct StepTimes {
  double step_s = 0;           // of whatever a step holds: the weights are read once
  double row_s = 0;            // of each token computed
  double context_token_s = 0;  // of each cached token read, all layers
};

// Computes nothing and writes no keys and values: each step moves the clock on, each token is a
// random one of the vocabulary that depends on (seed of the request's sampling, request, index)
// alone. There are no logits to look at.
class StepTimeModel final : public StepExecutor {
 public:
  // `config` gives vocabulary and shape of the cache. Throws Error for a time that is below 0 or no
  // number.
  StepTimeModel(model::ModelConfig config, const StepTimes& times,
                std::shared_ptr<VirtualClock> clock);

  [[nodiscard]] const model::ModelConfig& config() const override { return config_; }
  [[nodiscard]] bool uses_cache() const override { return false; }
  void execute(const StepWork& work, std::span<int32_t> tokens) override;
  [[nodiscard]] std::span<const float> logits(int32_t n) const override;

 private:
  model::ModelConfig config_;
  StepTimes times_;
  std::shared_ptr<VirtualClock> clock_;
};

}  // namespace reprise::engine
