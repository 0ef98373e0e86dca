#include "experiments/kinds/serving.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/error.h"
#include "core/base/problems.h"
#include "core/device/buffer.h"
#include "core/device/memory.h"
#include "experiments/kinds/costs.h"
#include "experiments/kinds/rate_search.h"
#include "experiments/kinds/service.h"
#include "experiments/kinds/serving_axes.h"
#include "experiments/kinds/serving_steps.h"
#include "experiments/kinds/shared_info.h"
#include "experiments/serving/metrics.h"
#include "experiments/serving/run.h"
#include "methods/registry.h"

namespace reprise::experiments {
namespace {

using workloads::RequestSource;

const MetricInfo kEqualTokens = {
    "equal_requests_ratio", "ratio",
    "of the requests that both served, those with the first method's tokens"};

// None where no request was served by both.
std::optional<double> equal_requests(const serving::RequestLog& log,
                                     const serving::RequestLog& first) {
  int64_t both = 0, equal = 0;
  for (size_t i = 0; i < std::min(log.requests.size(), first.requests.size()); ++i) {
    if (log.requests[i].outcome != serving::Outcome::kServed ||
        first.requests[i].outcome != serving::Outcome::kServed)
      continue;
    ++both;
    equal += log.requests[i].tokens == first.requests[i].tokens ? 1 : 0;
  }
  if (both == 0) return std::nullopt;
  return static_cast<double>(equal) / static_cast<double>(both);
}

void check_methods(const Group& group) {
  Problems problems;
  for (const MethodChoice& method : group.methods)
    problems.collect([&] { (void)methods::make_method(method.name, method.options); });
  problems.raise_if_any();
}

}  // namespace

KindInfo ServingKind::info() {
  KindInfo info{.name = "serving",
                .summary =
                    "requests at their times under continuous batching: latencies, rates, "
                    "memory, and whether the run may be reported",
                .axes = serving_axes(),
                .metrics = serving::serving_metrics(),
                .own_workloads = serving_workloads()};
  for (Axis& axis : rate_search_axes()) info.axes.push_back(std::move(axis));
  info.metrics.push_back(kEqualTokens);
  for (const auto& part : {service_metrics(), step_metrics(), rate_search_metrics()})
    info.metrics.insert(info.metrics.end(), part.begin(), part.end());
  return info;
}

void ServingKind::check(const Group& group) {
  Problems problems;
  // Of modelled steps the shape is enough.
  if (!step_times_of(group)) problems.collect([&] { bench_.check_model(group); });
  problems.collect([&] { check_step_times(group); });
  problems.collect([&] { check_rate_search(group); });
  problems.collect([&] { check_methods(group); });
  problems.collect([&] {
    const RequestSource& requests = source(group);
    (void)schedule_of(group, requests);
    if (!group.model.random_weights)
      check_positions(Bench::config(group), extent_of(requests).longest);
  });
  problems.raise_if_any();
}

MemoryNeed ServingKind::memory_need(const Group& group) {
  if (step_times_of(group)) return {};
  const Extent extent = extent_of(source(group));
  const model::ModelConfig config = Bench::config(group);
  int64_t tokens = group.axis("max_batch") * extent.longest + extent.prefix_tokens;
  if (const int64_t budget = kv_budget_bytes(group); budget > 0)
    tokens = std::min(tokens, budget / kv_bytes_per_token(config, group.kv_dtype));
  return memory_of_model(config, group.weight_type(), group.kv_dtype, tokens);
}

const RequestSource& ServingKind::source(const Group& group) {
  if (std::string key = source_key(group); source_ == nullptr || made_from_ != key) {
    source_ = request_source_of(group, Bench::config(group).vocab);
    made_from_ = std::move(key);
  }
  return *source_;
}

serving::ServingPlan ServingKind::plan(const Group& group) {
  (void)source(group);
  serving::ServingPlan plan{.source = source_,
                            .schedule = schedule_of(group, *source_),
                            .options = run_options_of(group, *source_, Bench::config(group))};
  try {
    plan.tokenizer = load_tokenizer(resolve_model(group.model.model));
  } catch (const Error&) {  // a model of random weights need not have one
  }
  return plan;
}

std::vector<Measurement> ServingKind::measure(const Group& group, const Json& machine,
                                              const std::atomic<bool>& stop) {
  bench_.use_calibration(machine);
  const RequestSource& requests = source(group);
  std::vector<Measurement> measurements;
  serving::RequestLog first;
  for (const MethodChoice& method : group.methods) {
    if (stop) throw Interrupted{};
    AlignedBuffer::reset_peak();
    if (searches_rate(group)) {
      measurements.push_back(search_rate(group, method, requests, bench_, machine, stop));
      continue;
    }
    Service service(group, method, requests, bench_);
    serving::RunResult result = service.run(stop);
    measurements.push_back(service.measurement(result, machine));
    if (measurements.size() == 1) first = std::move(result.log);
    const serving::RequestLog& log = measurements.size() == 1 ? first : result.log;
    if (step_times_of(group)) continue;
    if (const auto equal = equal_requests(log, first))
      measurements.back().set(kEqualTokens, *equal);
  }
  return measurements;
}

}  // namespace reprise::experiments
