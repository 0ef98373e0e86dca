#include "experiments/kinds/serving.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/problems.h"
#include "core/device/buffer.h"
#include "core/device/memory.h"
#include "experiments/kinds/costs.h"
#include "experiments/kinds/engine_target.h"
#include "experiments/kinds/module_folder.h"
#include "experiments/kinds/serving_axes.h"
#include "experiments/kinds/serving_steps.h"
#include "experiments/kinds/shared_info.h"
#include "experiments/serving/metrics.h"
#include "experiments/serving/run.h"
#include "methods/registry.h"

namespace reprise::experiments {
namespace {

using workloads::RequestSource;
using workloads::ServingRequest;

const MetricInfo kPrimeMs = {"prime_ms", "ms",
                             "computing the declared prefixes, once, before the first request"};
const MetricInfo kVerdict = {"is_valid", "yes or no",
                             "1: VALID, 0: INVALID, for the reasons in the record"};
const MetricInfo kEqualTokens = {
    "equal_requests_ratio", "ratio",
    "of the requests that both served, those with the first method's tokens"};

// What a request may need, of all of them.
struct Extent {
  int64_t longest = 0;        // prompt and output
  int64_t prefix_tokens = 0;  // of all prefixes
  int64_t prefixes = 0;
};

Extent extent_of(const RequestSource& source) {
  Extent extent;
  for (int64_t i = 0; i < source.size(); ++i) {
    const RequestSource::Lengths lengths = source.lengths(i);
    extent.longest = std::max(extent.longest, lengths.prompt + lengths.output);
  }
  for (const workloads::DeclaredPrefix& prefix : source.prefixes()) {
    extent.prefix_tokens += std::ssize(prefix.tokens);
    ++extent.prefixes;
  }
  return extent;
}

// What the method promises to find of a request's prompt.
serving::ReuseBounds bounds_of(const ServingRequest& request, const reuse::ReusePromise& promise,
                               const std::vector<workloads::DeclaredPrefix>& prefixes) {
  const int64_t most = std::ssize(request.prompt) - 1;  // the last token is always computed
  serving::ReuseBounds bounds;
  if (promise.declared && request.prefix >= 0)
    bounds.least = bounds.most =
        std::min<int64_t>(most, std::ssize(prefixes[static_cast<size_t>(request.prefix)].tokens));
  if (promise.found) bounds.most = std::max(bounds.most, std::min(most, request.shared_tokens));
  return bounds;
}

double equal_requests(const serving::RequestLog& log, const serving::RequestLog& first) {
  int64_t both = 0, equal = 0;
  for (size_t i = 0; i < std::min(log.requests.size(), first.requests.size()); ++i) {
    if (log.requests[i].outcome != serving::Outcome::kServed ||
        first.requests[i].outcome != serving::Outcome::kServed)
      continue;
    ++both;
    equal += log.requests[i].tokens == first.requests[i].tokens ? 1 : 0;
  }
  return both == 0 ? 1 : static_cast<double>(equal) / static_cast<double>(both);
}

// What of a run does not depend on who serves.
serving::RunOptions run_options_of(const Group& group, const RequestSource& source,
                                   const model::ModelConfig& config) {
  return {.warmup = serving::unrelated_requests(
              source, group.warmup, static_cast<int32_t>(config.vocab), group.seeds.prompts),
          .rules = validity_rules_of(group),
          // A backlog below a few batches may be no more than a burst.
          .growth = {.least_backlog = 4 * group.axis("max_batch")}};
}

std::unique_ptr<engine::Engine> make_engine(const Group& group, const MethodChoice& method,
                                            const RequestSource& source, Bench& bench,
                                            const std::filesystem::path& swap_folder) {
  const Extent extent = extent_of(source);
  engine::EngineOptions options = engine_options_of(group);
  options.swap.folder = swap_folder;
  options.limits.max_sequence_tokens = static_cast<int32_t>(extent.longest);
  options.limits.prefix_tokens = static_cast<int32_t>(extent.prefix_tokens);
  options.limits.prefixes = static_cast<int32_t>(std::max<int64_t>(1, extent.prefixes));
  model::Decoder& decoder = bench.decoder(group);
  return std::make_unique<engine::Engine>(
      bench.context(), decoder,
      methods::make_method(method.name, method.options, {.config = &decoder.config()}), options);
}

// One method's run.
class Service {
 public:
  Service(const Group& group, const MethodChoice& method, const RequestSource& source, Bench& bench)
      : group_(group),
        source_(source),
        decoder_(bench.decoder(group)),
        engine_(make_engine(group, method, source, bench, *swap_folder_)),
        target_(*engine_, clock_) {}

  serving::RunResult run(const std::atomic<bool>& stop) {
    const std::vector<workloads::DeclaredPrefix> prefixes = source_.prefixes();
    const reuse::ReusePromise promise = engine_->method().promise();
    serving::RunOptions options = run_options_of(group_, source_, decoder_.config());
    options.primes = !prefixes.empty();
    options.reuse = [&](const ServingRequest& r) { return bounds_of(r, promise, prefixes); };
    options.stop = &stop;
    return serving::run(target_, source_, schedule_of(group_, source_), options, clock_);
  }

  Measurement measurement(const serving::RunResult& result, const Json& machine) {
    Measurement out = serving::measure(
        result, {.slo = slo_of(group_), .is_open_loop = group_.word_axis("arrivals") != "closed"});
    out.set(kPrimeMs, result.prime_s * 1e3);
    add_step_times(decoder_.config(), group_, machine, result.log, out);
    out.set(kVerdict, result.verdict.is_valid() ? 1 : 0);
    out.resolved.update(resolved_settings(*engine_, decoder_));
    out.resolved["repetitions"] = 1;
    out.memory = memory_of(*engine_);
    return out;
  }

 private:
  const Group& group_;
  const RequestSource& source_;
  model::Decoder& decoder_;
  std::shared_ptr<const std::filesystem::path> swap_folder_ = make_module_folder();
  std::unique_ptr<engine::Engine> engine_;
  serving::SteadyClock clock_;
  EngineTarget target_;
};

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
  for (const MetricInfo& metric : {kPrimeMs, kVerdict, kEqualTokens})
    info.metrics.push_back(metric);
  for (const MetricInfo& metric : step_metrics()) info.metrics.push_back(metric);
  return info;
}

void ServingKind::check(const Group& group) {
  Problems problems;
  problems.collect([&] { bench_.check_model(group); });
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
    Service service(group, method, requests, bench_);
    serving::RunResult result = service.run(stop);
    measurements.push_back(service.measurement(result, machine));
    if (measurements.size() == 1) first = std::move(result.log);
    const serving::RequestLog& log = measurements.size() == 1 ? first : result.log;
    measurements.back().set(kEqualTokens, equal_requests(log, first));
  }
  return measurements;
}

}  // namespace reprise::experiments
