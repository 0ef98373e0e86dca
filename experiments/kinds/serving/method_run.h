// One method's run in kind "serving": the engine that serves the requests of a source, and its
// clock.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "core/engine/engine.h"
#include "core/engine/step_time_model.h"
#include "experiments/framework/kind.h"
#include "experiments/kinds/serving/engine_target.h"
#include "experiments/kinds/serving/serving_axes.h"
#include "experiments/kinds/shared/bench.h"
#include "experiments/serving/run.h"
#include "workloads/serving/request_source.h"

namespace reprise::experiments {

// The lengths and numbers that an engine must have room for to serve a source's requests.
struct Extent {
  int64_t longest = 0;        // most tokens of a request, prompt and output together
  int64_t prefix_tokens = 0;  // tokens of all declared prefixes together
  int64_t prefixes = 0;       // 0 if the axes do not ask to declare prefixes
};
[[nodiscard]] Extent extent_of(const EngineAxes& axes, const workloads::RequestSource& source);

// The prefixes of `source` that are announced to a method, each as one piece. Empty if the axes do
// not ask to announce prefixes.
[[nodiscard]] std::vector<methods::Prefix> announced_prefixes(
    const EngineAxes& axes, const workloads::RequestSource& source);

// The options of a run that do not depend on the server.
[[nodiscard]] serving::RunOptions run_options_of(const Group& group, const ServingAxes& axes,
                                                 const workloads::RequestSource& source,
                                                 const model::ModelConfig& config);

[[nodiscard]] std::vector<MetricInfo> method_run_metrics();

// Either the network computes in real time, or each step takes the time of the group's step model
// on a virtual clock and no model is loaded (serving_axes.h).
class MethodRun {
 public:
  // All arguments must outlive the run.
  MethodRun(const Group& group, const ServingAxes& axes, const MethodChoice& method,
            const workloads::RequestSource& source, Bench& bench);

  // `on_start`: see serving::RunOptions.
  [[nodiscard]] serving::RunResult run(const std::atomic<bool>& stop,
                                       std::function<void()> on_start = nullptr);
  [[nodiscard]] Measurement measurement(const serving::RunResult& result, const Machine& machine);

 private:
  [[nodiscard]] std::unique_ptr<engine::Engine> make_engine(Bench& bench);

  const Group& group_;
  const ServingAxes& axes_;
  const workloads::RequestSource& source_;
  const std::unique_ptr<methods::Method> method_;
  const model::ModelConfig config_;
  const std::shared_ptr<engine::VirtualClock> virtual_clock_;  // null: real time
  const std::unique_ptr<const serving::Clock> clock_;
  const model::Decoder* decoder_ = nullptr;  // null: steps are modelled
  double prepare_s_ = 0;                     // time of Method::prepare(), before there is an engine
  std::unique_ptr<engine::Engine> engine_;
  EngineTarget target_;
  double run_s_ = 0;  // time of the run by the real clock
};

}  // namespace reprise::experiments
