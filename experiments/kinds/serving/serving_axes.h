// What kind "serving" can be told, and what its parts are told by it.
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

// Those of the requests.
[[nodiscard]] std::vector<Axis> source_axes();
// And of their arrivals, of the engine, and of what a run must keep to.
[[nodiscard]] std::vector<Axis> serving_axes();

// Sources of requests, as a kind's own workloads.
[[nodiscard]] std::vector<workloads::WorkloadInfo> serving_workloads();

// The group's requests. Throws Error as workloads::make_request_source().
[[nodiscard]] std::unique_ptr<workloads::RequestSource> request_source_of(const Group& group,
                                                                          int64_t vocab);

// Equal for groups that have the same requests.
[[nodiscard]] std::string source_key(const Group& group);

// When they come: as the source recorded it, or as the process draws it. Throws Error where the
// process and the source do not go together.
[[nodiscard]] workloads::ArrivalSchedule schedule_of(const Group& group,
                                                     const workloads::RequestSource& source);

// Whether the engine is told of the source's prefixes before the first request.
[[nodiscard]] bool declares_prefixes(const Group& group);
[[nodiscard]] int64_t kv_budget_bytes(const Group& group);  // 0: none

// What the engine of every method is told, limits and the folder for swapped states apart.
[[nodiscard]] engine::EngineOptions engine_options_of(const Group& group);

// What a step takes where steps are modelled (engine/step_time_model.h); none: the network
// computes.
[[nodiscard]] std::optional<engine::StepTimes> step_times_of(const Group& group);
// Throws Error for parts of such a model without the whole.
void check_step_times(const Group& group);

[[nodiscard]] serving::Slo slo_of(const Group& group);
[[nodiscard]] serving::ValidityRules validity_rules_of(const Group& group);

}  // namespace reprise::experiments
