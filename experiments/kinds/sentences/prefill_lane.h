// Times one method on a group's prompts, and counts how often the method reused attention maps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/model/network/layer_times.h"
#include "experiments/framework/kind.h"
#include "experiments/framework/undisturbed.h"
#include "methods/method.h"

namespace reprise::experiments {

// The metrics that report() may set, including the metrics that methods report themselves. Most are
// set only for methods that do what the metric measures.
[[nodiscard]] std::vector<MetricInfo> prefill_lane_metrics();

// The metrics that report() adds after take_operations().
[[nodiscard]] std::vector<MetricInfo> operation_metrics();

// Implements Kind::missing() for the kinds that use PrefillLane.
[[nodiscard]] std::string missing_for(const MethodChoice& method);

class PrefillLane {
 public:
  // Makes and prepares the method. Throws Error as make_method() and Method::prepare() do.
  PrefillLane(const MethodChoice& method, const methods::Setup& setup, int64_t repetitions);

  // Returns the prompt `ids` in the form that the method wants, for example padded.
  [[nodiscard]] std::vector<int32_t> formed(std::vector<int32_t> ids) const;

  // Takes a turn: calls run(step, policy) for each step of [0, steps).
  using RunStep = std::function<void(int64_t step, model::LayerPolicy* policy)>;
  void take(int64_t steps, bool is_warmup, const RunStep& run);
  // Takes the same steps once more, with attention computed and timed operation by operation. The
  // times of such a turn are used only for operation_metrics().
  void take_operations(int64_t steps, const RunStep& run);

  // The prompts of the steps.
  struct Prompts {
    const model::ModelConfig& config;
    std::span<const int64_t> tokens;  // [prompts]  number of tokens of each, as the method read it
    bool is_one_a_step = false;
  };
  // Adds the lane's metrics and the method's own metrics to `out`. Speedups are over `first`: this
  // lane, or another lane that took the same steps in as many turns.
  void report(const PrefillLane& first, const Prompts& prompts, Measurement& out) const;

 private:
  struct Step {
    double ms = 0;
    double attention_ms = 0;  // attention and the policy's choice (retrieval, loading maps)
    double feed_forward_ms = 0;
    int64_t reused_layers = 0;
  };
  struct Turn {
    std::vector<Step> steps;
    methods::TurnCounts counts;
  };

  // Time of each operation of the attention in one turn, in ms, summed over steps and layers.
  struct Operations {
    double queries_ms = 0, keys_ms = 0, rotary_ms = 0, values_ms = 0, map_ms = 0, rest_ms = 0;
  };

  Step take_step(int64_t index, const RunStep& run);
  void report_operations(double per_text, Measurement& out) const;
  void report_hits(const PrefillLane& first, const Prompts& prompts, Measurement& out) const;
  // Returns one sum for each turn: the member `part` of Step, summed over the turn's steps.
  // sums_of_hits() leaves out steps that reused no maps in turn `hits`.
  [[nodiscard]] std::vector<double> sums(double Step::*part) const;
  [[nodiscard]] std::vector<double> sums_of_hits(double Step::*part, const Turn& hits) const;

  std::unique_ptr<methods::Method> method_;
  std::shared_ptr<model::LayerPolicy> policy_;     // null: every layer computes
  std::shared_ptr<engine::RequestShaper> shaper_;  // null: prompts stay as they are
  std::unique_ptr<model::LayerTimes> times_;
  std::vector<Turn> turns_;
  std::vector<Operations> operations_;  // for each turn of take_operations()
  Undisturbed taking_;
};

}  // namespace reprise::experiments
