// A model of a step's time, used in place of the network. Scheduler, methods and plans run for real
// on a simulated clock.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/engine/step_executor.h"

namespace reprise::engine {

// A clock that moves only when a caller moves it. EngineOptions::clock_ns reads it. When no work is
// left before the next arrival, the engine's caller moves it to that arrival.
class VirtualClock {
 public:
  [[nodiscard]] int64_t now_ns() const { return now_ns_; }
  void advance_by(int64_t ns) { now_ns_ += ns; }
  void advance_to(int64_t ns) { now_ns_ = ns > now_ns_ ? ns : now_ns_; }

 private:
  int64_t now_ns_ = 0;
};

// Time of a step: step_s + row_s * rows + context_token_s * tokens read by the plan's work items. A
// work item counts its tokens once even if it reads them for several rows, since memory bandwidth
// limits attention. Tokens outside a model's sliding window are not read.
struct StepTimes {
  double step_s = 0;           // seconds per step, such as for reading the weights once
  double row_s = 0;            // seconds per token computed
  double context_token_s = 0;  // seconds per cached token read, all layers together
};

// Computes nothing and writes no keys and values. Each step advances the clock. Each token is
// random and depends only on the seed of the request's sampling, the request and the token's index.
// There are no logits.
class StepTimeModel final : public StepExecutor {
 public:
  // `config` gives the vocabulary, the cache's shape and the sliding window. Throws Error if one of
  // `times` is negative or NaN.
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
