// The axes of kind "serving", and the settings that its parts get from them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/step_time_model.h"
#include "core/tokenizer/tokenizer.h"
#include "experiments/framework/kind.h"
#include "experiments/serving/latency.h"
#include "experiments/serving/validity.h"
#include "workloads/arrivals.h"
#include "workloads/serving/registry.h"

namespace reprise::experiments {

// Axes of the requests.
[[nodiscard]] std::vector<Axis> source_axes();
// Axes of the arrivals, of the engine, and of the rules for a valid run.
[[nodiscard]] std::vector<Axis> serving_axes();

// The sources of requests, as a kind's own workloads.
[[nodiscard]] std::vector<workloads::WorkloadInfo> serving_workloads();

// The group's requests. Throws Error as workloads::make_request_source().
[[nodiscard]] std::unique_ptr<workloads::RequestSource> request_source_of(const Group& group,
                                                                          int64_t vocab);

// A text that is equal for groups that have the same requests.
[[nodiscard]] std::string source_key(const Group& group);

// The arrival times: as the source recorded them, or as the arrival process draws them. Throws
// Error if process and source do not fit together.
[[nodiscard]] workloads::ArrivalSchedule schedule_of(const Group& group,
                                                     const workloads::RequestSource& source);

// True if the engine is told the source's prefixes before the first request.
[[nodiscard]] bool declares_prefixes(const Group& group);
[[nodiscard]] int64_t kv_budget_bytes(const Group& group);  // 0: none

// The engine's options for every method, without limits and without the folder for swapped states.
[[nodiscard]] engine::EngineOptions engine_options_of(const Group& group);

// The step times of the model of steps (engine/step_time_model.h); nullopt if the network computes.
[[nodiscard]] std::optional<engine::StepTimes> step_times_of(const Group& group);
// Throws Error if such a model is given only in part.
void check_step_times(const Group& group);

[[nodiscard]] serving::Slo slo_of(const Group& group);
[[nodiscard]] serving::ValidityRules validity_rules_of(const Group& group);

}  // namespace reprise::experiments
