// A way to run a model's layers while prompts are computed that nothing is generated behind.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device/context.h"
#include "core/model/config/config.h"
#include "core/model/network/layer_policy.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// What a method prepares itself with.
struct PrefillSetup {
  // Computes one prompt, whole, in a step of its own, and returns what comes out: a vector, or the
  // logits of choices.
  using Run =
      std::function<std::vector<float>(std::span<const int32_t> ids, model::LayerPolicy* policy)>;

  Context context;                         // of the CPU: of what a method computes itself
  std::shared_ptr<DeviceRuntime> runtime;  // the model's device; null: the CPU
  const model::ModelConfig& config;
  std::string model;  // tells apart models and the ways their weights are held
  uint64_t seed = 1;
  Run run;
  // Prompts that no query has: to be stored; and others to learn from before that.
  std::span<const std::vector<int32_t>> database, training;

  // To choose layers by.
  [[nodiscard]] std::span<const std::vector<int32_t>> calibration() const {
    return training.empty() ? database : training;
  }
};

// What came of the prompts since begin_turn().
struct ReuseCounts {
  int64_t layers = 0;  // (prompt, layer) pairs that were computed with stored maps
  double retrieval_ms = 0, loading_ms = 0;
};

class PrefillMethod {
 public:
  virtual ~PrefillMethod() = default;
  // Once, before the first turn. The prompts' Error ends the point.
  virtual void prepare(const PrefillSetup& /*setup*/) {}
  // A prompt as this method wants it: padded, or as it is.
  [[nodiscard]] virtual std::vector<int32_t> formed(std::span<const int32_t> ids) const {
    return {ids.begin(), ids.end()};
  }
  // Decides each layer of the steps; null: every layer computes.
  [[nodiscard]] virtual model::LayerPolicy* policy() { return nullptr; }
  // Whether it looks prompts up, so that some hit and others do not.
  [[nodiscard]] virtual bool looks_up() const { return false; }
  // Counts begin anew.
  virtual void begin_turn() {}
  [[nodiscard]] virtual ReuseCounts counts() const { return {}; }
  // Adds its own metrics, and settings as they turned out, to the point's.
  virtual void report(Measurement& /*out*/) const {}
};

}  // namespace reprise::experiments
