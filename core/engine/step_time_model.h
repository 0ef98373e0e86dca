// A model of a step's time in place of the network. Scheduler, methods and plans run for real on a
// simulated clock.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/engine/step_executor.h"

namespace reprise::engine {

// A clock that moves only when told to. EngineOptions::clock_ns reads it; the caller of the engine
// moves it to the next arrival when nothing is left to do.
class VirtualClock {
 public:
  [[nodiscard]] int64_t now_ns() const { return now_ns_; }
  void advance_by(int64_t ns) { now_ns_ += ns; }
  void advance_to(int64_t ns) { now_ns_ = ns > now_ns_ ? ns : now_ns_; }

 private:
  int64_t now_ns_ = 0;
};

// seconds = step_s + row_s * rows + context_token_s * tokens read by the plan's work items. A work
// item counts its tokens once even if it reads them for several rows, as attention limited by
// memory does.
struct StepTimes {
  double step_s = 0;           // per step: reading the weights once
  double row_s = 0;            // per token computed
  double context_token_s = 0;  // per cached token read, all layers
};

// Computes nothing and writes no keys and values. Each step advances the clock; each token is
// random and depends only on (seed of the request's sampling, request, index). There are no logits.
class StepTimeModel final : public StepExecutor {
 public:
  // `config` gives the vocabulary and the cache's shape. Throws Error for a time that is negative
  // or NaN.
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
