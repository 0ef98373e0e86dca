// The axes of kind "serving", and the settings of source, arrivals, engine and rules that are made
// from the axes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/step_time_model.h"
#include "core/tokenizer/tokenizer.h"
#include "experiments/framework/shared_info.h"
#include "experiments/serving/latency.h"
#include "experiments/serving/validity.h"
#include "experiments/serving/width_stop.h"
#include "workloads/arrivals.h"
#include "workloads/serving/registry.h"
#include "workloads/serving/source_options.h"

namespace reprise::experiments {

// The axes that choose the requests: the options of a source that source_fields() lists.
struct SourceAxes {
  workloads::SourceOptions options;

  void visit(AxisVisitor& visitor);
};

// The times of the requests.
struct ArrivalAxes {
  std::string arrivals = "poisson";
  double rate_rps = 1;
  double cv = 1;
  int64_t most_in_flight = 1;
  double pause_s = 0, most_pause_s = 0;
  double end_rate_rps = 1;
  double ramp_s = 0;  // 0: the whole run
  double burst_rate_rps = 1;
  double burst_s = 1;
  double between_s = 1;

  // True for a closed loop: a request is sent when an earlier answer has come, not at a rate.
  [[nodiscard]] bool wait_for_answers() const;
  void visit(AxisVisitor& visitor);

 private:
  void visit_bursts(AxisVisitor& visitor);
};

struct EngineAxes : StepAxes {
  int64_t max_batch = 32;
  std::string scheduler = "first_come";
  double most_wait_s = 10;
  std::string prefixes = "declared";
  double kv_budget_mb = 0;  // 0: as much as the batch's longest requests need
  std::string preemption = "recompute";
  double swap_budget_mb = 0;  // 0: all that memory or disk has

  void visit(AxisVisitor& visitor);

 private:
  void visit_memory(AxisVisitor& visitor);
};

// The axes of modelled step times, which advance a virtual clock.
struct StepModelAxes {
  double modelled_step_ms = 0;  // 0: the network computes
  double modelled_row_us = 0;
  double modelled_context_ns = 0;

  void visit(AxisVisitor& visitor);
};

// Rules for a run: the latency bounds of the service level, the run's least duration and least
// number of requests, and when the run may stop early.
struct RuleAxes {
  double slo_ttft_ms = 0, slo_tpot_ms = 0, slo_e2e_ms = 0, slo_normalised_ms = 0;  // 0: no bound
  double slo_share = 0.99;
  double least_duration_s = 60;
  double most_drain_s = 3600;
  int64_t least_requests = 100;
  double stop_width = 0;  // 0: a run has all requests of its source
  std::string stop_latency = "e2e";
  double stop_share = 0.5;

  void visit(AxisVisitor& visitor);

 private:
  void visit_stop(AxisVisitor& visitor);
  void visit_service_level(AxisVisitor& visitor);
};

inline constexpr const char* kOneRate = "one_rate";
inline constexpr const char* kHighestRate = "highest_rate";

// The search for the highest rate; see rate_search.h.
struct SearchAxes {
  std::string search = kOneRate;
  double search_resolution = 0.05;
  int64_t search_trials = 4;

  void visit(AxisVisitor& visitor);
};

// The axes of kind "serving".
struct ServingAxes {
  SourceAxes source;
  ArrivalAxes arrivals;
  EngineAxes engine;
  StepModelAxes steps;
  RuleAxes rules;
  SearchAxes search;
  double usd_per_hour = 0;      // price of the machine; 0: not given
  int64_t judged_partings = 0;  // most judged requests of a method; see serving_agreement.h

  void visit(AxisVisitor& visitor);
};

// The sources of requests, in the form of KindInfo::own_workloads.
[[nodiscard]] std::vector<workloads::WorkloadInfo> serving_workloads();

// The group's requests. Throws Error as workloads::make_request_source().
[[nodiscard]] std::unique_ptr<workloads::RequestSource> request_source_of(
    const Group& group, const SourceAxes& axes, int64_t vocab, const workloads::Salt& salt = {});

// A key that is equal for groups with the same requests.
[[nodiscard]] std::string source_key(const Group& group, const SourceAxes& axes);

// Returns when the requests arrive: at the times that the source recorded, or at times that the
// arrival process draws. Throws Error if the process and the source do not fit each other.
[[nodiscard]] workloads::ArrivalSchedule schedule_of(const Group& group, const ArrivalAxes& axes,
                                                     const workloads::RequestSource& source);

// True if the source's prefixes are declared to the engine before the first request.
[[nodiscard]] bool declares_prefixes(const EngineAxes& axes);
[[nodiscard]] int64_t kv_budget_bytes(const EngineAxes& axes);  // 0: none

// Returns the options of the engine that are the same for every method: all but the limits. Throws
// Error if states are swapped to disk and there is no folder for temporary files.
[[nodiscard]] engine::EngineOptions engine_options_of(const EngineAxes& axes, DType kv_dtype);

// Times of the step model (engine/step_time_model.h); nullopt if the network computes.
[[nodiscard]] std::optional<engine::StepTimes> step_times_of(const StepModelAxes& axes);
// Throws Error if modelled_row_us or modelled_context_ns is set and modelled_step_ms is 0.
void check_step_times(const StepModelAxes& axes);

[[nodiscard]] serving::Slo slo_of(const RuleAxes& axes);
[[nodiscard]] serving::ValidityRules validity_rules_of(const RuleAxes& axes);
[[nodiscard]] serving::WidthRule width_rule_of(const RuleAxes& axes);

}  // namespace reprise::experiments
