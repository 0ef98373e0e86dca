// Kind "serving": requests that arrive over time, served by one engine with one scheduler for all
// methods.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/device/operation_log.h"
#include "experiments/framework/kind.h"
#include "experiments/kinds/shared/bench.h"
#include "experiments/serving/plan.h"
#include "experiments/serving/trace_writer.h"
#include "workloads/serving/request_source.h"

namespace reprise::experiments {

class MethodRun;

// A point is one run of experiments/serving: flush, warm up, declare the workload's prefixes and
// wait until they are computed, then send requests at times drawn before the run. Methods run one
// after another, repetition by repetition, with the same requests at the same times. Sampling is
// greedy, and every request generates all its tokens.
class ServingKind : public Kind, public serving::PlansServing, public serving::TracedKind {
 public:
  explicit ServingKind(const Context& context) : bench_(context) {}
  static KindInfo info();
  void check(const Group& group) override;
  [[nodiscard]] MemoryNeed memory_need(const Group& group) override;
  std::vector<Measurement> measure(const Group& group, const Machine& machine,
                                   const std::atomic<bool>& stop) override;
  // Traces also contain the first kernel operations of each run, if it computes on the CPU.
  void trace_to(serving::TraceWriter& writer) override;
  void check_plan(const Group& group) const override;
  [[nodiscard]] serving::ServingPlan plan(const Group& group, const workloads::Salt& salt) override;
  [[nodiscard]] std::optional<Measurement> search(
      const Group& group, const std::function<workloads::Salt()>& next_salt,
      const std::function<serving::TrialRun(serving::ServingPlan&)>& run,
      const std::atomic<bool>& stop) override;

 private:
  // Runs the method, and writes the run to the trace, if one is wanted.
  serving::RunResult run_traced(MethodRun& method_run, const std::string& name,
                                const std::atomic<bool>& stop);
  std::vector<Measurement> search_each(const Group& group, const Machine& machine,
                                       const std::atomic<bool>& stop);
  std::vector<Measurement> run_each(const Group& group, const Machine& machine,
                                    const std::atomic<bool>& stop);
  // The group's requests. Sources are kept, because encoding real texts takes seconds and check(),
  // memory_need() and measure() all need them.
  const std::shared_ptr<const workloads::RequestSource>& source(const Group& group);

  std::unique_ptr<OperationLog> operations_;  // null: no run is traced
  Bench bench_;
  std::map<std::string, std::shared_ptr<const workloads::RequestSource>>
      sources_;  // by source_key()
};

}  // namespace reprise::experiments
