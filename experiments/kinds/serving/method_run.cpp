#include "experiments/kinds/serving/method_run.h"

#include <algorithm>

#include "experiments/framework/shared_info.h"
#include "experiments/kinds/serving/serving_steps.h"
#include "experiments/serving/metrics.h"
#include "methods/registry.h"

namespace reprise::experiments {
namespace {

using workloads::RequestSource;
using workloads::ServingRequest;

const MetricInfo kPrimeMs = {"prime_ms", "ms",
                             "computing the declared prefixes, once, before the first request"};
const MetricInfo kWholeS = {"whole_s", "s",
                            "from the first prefix to the last token: prime_ms and duration_s"};
const MetricInfo kUsdPer1000Requests = {
    "usd_per_1000_requests", "USD",
    "price of whole_s at usd_per_hour, over the served requests; for machines of any price"};
const MetricInfo kPeakStatesMb = {
    "peak_states_mb", "MB",
    "keys and values at their peak: peak_kv_mb, and the peak of what the method holds beside the "
    "cache: modules, and each request's own copies"};
const MetricInfo kReplayS = {"replay_s", "s",
                             "of real time that a run of modelled steps took, drawing requests and "
                             "checks included"};
const MetricInfo kReplayUs = {"replay_request_us", "us", "the same, over the requests that ended"};

class VirtualServingClock final : public serving::Clock {
 public:
  explicit VirtualServingClock(std::shared_ptr<const engine::VirtualClock> clock)
      : clock_(std::move(clock)) {}
  [[nodiscard]] double now_s() const override {
    return static_cast<double>(clock_->now_ns()) * 1e-9;
  }

 private:
  std::shared_ptr<const engine::VirtualClock> clock_;
};

std::unique_ptr<const serving::Clock> clock_of(
    const std::shared_ptr<engine::VirtualClock>& virtual_clock) {
  if (virtual_clock != nullptr) return std::make_unique<VirtualServingClock>(virtual_clock);
  return std::make_unique<serving::SteadyClock>();
}

// Returns bounds on the number of a prompt's tokens that the method promises to reuse.
serving::ReuseBounds bounds_of(const ServingRequest& request, const reuse::ReusePromise& promise,
                               bool imports_modules, bool is_of_sessions,
                               const std::vector<workloads::DeclaredPrefix>& announced) {
  const int64_t most = std::ssize(request.prompt) - 1;  // the last token is always computed
  serving::ReuseBounds bounds;
  if (imports_modules) bounds.least = bounds.most = request.module_tokens;
  if (promise.declared && request.prefix >= 0 && !announced.empty())
    bounds.least = bounds.most =
        std::min<int64_t>(most, std::ssize(announced[static_cast<size_t>(request.prefix)].tokens));
  if (promise.found) {
    int64_t shared = request.shared_tokens;
    if (is_of_sessions) shared = std::max(shared, request.session_tokens);
    bounds.most = std::max(bounds.most, std::min(most, shared));
  }
  return bounds;
}

// Returns the rule for giving up a run. The backlog must reach a few batches, since a smaller one
// may be only a burst. In a short run, a backlog of half the requests suffices. Runs shorter than
// five of the smallest windows are never given up.
serving::GrowthRule growth_rule(int64_t requests, int64_t max_batch) {
  constexpr int64_t kLeastWindow = 16;
  const serving::GrowthRule usual;
  return {
      .window_arrivals = std::clamp<int64_t>(requests / 10, kLeastWindow, usual.window_arrivals),
      .least_backlog = std::min(4 * max_batch, requests / 2)};
}

}  // namespace

Extent extent_of(const EngineAxes& axes, const RequestSource& source) {
  Extent extent;
  for (int64_t i = 0; i < source.size(); ++i) {
    const RequestSource::Lengths lengths = source.lengths(i);
    extent.longest = std::max(extent.longest, lengths.prompt + lengths.output);
  }
  if (!declares_prefixes(axes)) return extent;
  for (const workloads::DeclaredPrefix& prefix : source.prefixes()) {
    extent.prefix_tokens += std::ssize(prefix.tokens);
    ++extent.prefixes;
  }
  return extent;
}

std::vector<methods::Prefix> announced_prefixes(const EngineAxes& axes,
                                                const RequestSource& source) {
  std::vector<methods::Prefix> prefixes;
  if (declares_prefixes(axes))
    for (const workloads::DeclaredPrefix& prefix : source.prefixes())
      prefixes.push_back({prefix.tokens});
  return prefixes;
}

serving::RunOptions run_options_of(const Group& group, const ServingAxes& axes,
                                   const RequestSource& source, const model::ModelConfig& config) {
  return {.warmup = serving::unrelated_requests(
              source, group.warmup, static_cast<int32_t>(config.vocab), group.seeds.prompts),
          .rules = validity_rules_of(axes.rules),
          .growth = growth_rule(source.size(), axes.engine.max_batch),
          .width = width_rule_of(axes.rules),
          .most_drain_s = axes.rules.most_drain_s,
          // A run with modelled steps may have a million requests, and its tokens mean nothing.
          .keeps_gaps = !step_times_of(axes.steps)};
}

std::vector<MetricInfo> method_run_metrics() {
  return {kPrimeMs, kWholeS, kUsdPer1000Requests, kPeakStatesMb, kReplayS, kReplayUs};
}

MethodRun::MethodRun(const Group& group, const ServingAxes& axes, const MethodChoice& method,
                     const RequestSource& source, Bench& bench)
    : group_(group),
      axes_(axes),
      source_(source),
      method_(methods::make_method(method.name, method.options)),
      config_(Bench::config(group)),
      virtual_clock_(step_times_of(axes.steps) ? std::make_shared<engine::VirtualClock>()
                                               : nullptr),
      clock_(clock_of(virtual_clock_)),
      decoder_(virtual_clock_ != nullptr ? nullptr : &bench.decoder(group)),
      engine_(make_engine(bench)),
      target_(*engine_, config_, *clock_, virtual_clock_.get()) {}

std::unique_ptr<engine::Engine> MethodRun::make_engine(Bench& bench) {
  const Extent extent = extent_of(axes_.engine, source_);
  engine::EngineOptions options = engine_options_of(axes_.engine, group_.kv_dtype);
  options.limits.max_sequence_tokens = static_cast<int32_t>(extent.longest);
  options.limits.prefix_tokens = static_cast<int32_t>(extent.prefix_tokens);
  options.limits.prefixes = static_cast<int32_t>(std::max<int64_t>(1, extent.prefixes));
  const std::vector<methods::Prefix> prefixes = announced_prefixes(axes_.engine, source_);
  if (virtual_clock_ == nullptr) {
    const double begin_s = clock_->now_s();
    const std::vector<std::vector<int32_t>> modules = source_.modules();
    method_->prepare(bench.setup_of(
        group_, axes_.engine,
        {.device = bench.context().device, .prefixes = prefixes, .modules = modules}));
    prepare_s_ = clock_->now_s() - begin_s;
  }
  auto cache = methods::join(method_->parts(), options);
  if (virtual_clock_ == nullptr)
    return std::make_unique<engine::Engine>(bench.context(), bench.decoder(group_),
                                            std::move(cache), options);
  options.clock_ns = [clock = virtual_clock_] { return clock->now_ns(); };
  return std::make_unique<engine::Engine>(
      bench.context(),
      std::make_unique<engine::StepTimeModel>(config_, *step_times_of(axes_.steps), virtual_clock_),
      std::move(cache), options);
}

serving::RunResult MethodRun::run(const std::atomic<bool>& stop, std::function<void()> on_start) {
  std::vector<workloads::DeclaredPrefix> announced;
  if (declares_prefixes(axes_.engine)) announced = source_.prefixes();
  reuse::ReusePromise promise = engine_->cache().promise();
  const bool imports = imports_prefixes(*engine_);
  promise.declared = promise.declared || imports;
  serving::RunOptions options = run_options_of(group_, axes_, source_, config_);
  // The engine takes requests between two steps, so a late request is due to the engine's load, not
  // to the load driver.
  options.rules.most_late_share = 1;
  options.primes = !announced.empty();
  const workloads::ArrivalSchedule schedule = schedule_of(group_, axes_.arrivals, source_);
  options.reuse = [&](const ServingRequest& r, const serving::RequestEntry&) {
    return bounds_of(r, promise, imports, schedule.is_of_sessions(), announced);
  };
  options.stop = &stop;
  options.on_start = std::move(on_start);
  const serving::SteadyClock real;
  const double begin_s = real.now_s();
  serving::RunResult result = serving::run(target_, source_, schedule, options, *clock_);
  run_s_ = real.now_s() - begin_s;
  return result;
}

Measurement MethodRun::measurement(const serving::RunResult& result, const Machine& machine) {
  serving::MetricOptions options{.slo = slo_of(axes_.rules),
                                 .is_open_loop = !axes_.arrivals.wait_for_answers()};
  // A run with modelled steps may have a million requests, and its latencies are not measured.
  if (decoder_ == nullptr) options.most_samples = 0;
  Measurement out = serving::measure(result, options);
  const double prime_s = result.prime_s + (imports_prefixes(*engine_) ? prepare_s_ : 0);
  out.set(kPrimeMs, prime_s * 1e3);
  const double duration_s = serving::duration_s(result.log);
  out.set(kWholeS, prime_s + duration_s);
  if (const double served = out.value(serving::kThroughputRps) * duration_s;
      axes_.usd_per_hour > 0 && served > 0)
    out.set(kUsdPer1000Requests,
            axes_.usd_per_hour / 3600 * (prime_s + duration_s) / served * 1000);
  const int64_t held_bytes = decoder_ != nullptr ? method_->peak_held_bytes() : 0;
  if (out.metrics.contains(serving::kPeakKvMb.name))
    out.set(kPeakStatesMb, out.value(serving::kPeakKvMb) + static_cast<double>(held_bytes) * 1e-6);
  add_step_times(config_, group_, decoder_ != nullptr ? &machine : nullptr, result.log, out);
  if (decoder_ == nullptr) {
    out.set(kReplayS, run_s_);
    out.set(kReplayUs, run_s_ * 1e6 / std::max(1.0, out.value(serving::kRequests)));
  }
  if (decoder_ != nullptr) {
    Measurement reported;
    add_report(*method_, reported);
    // insert() keeps the run's own metric if the method reports one of the same name.
    out.metrics.insert(reported.metrics.begin(), reported.metrics.end());
    update(out.resolved, reported.resolved);
  }
  const methods::Exactness exactness = method_->exactness();
  update(out.resolved, decoder_ != nullptr ? resolved_settings(*engine_, *decoder_, exactness)
                                           : resolved_settings(*engine_, config_, 0, exactness));
  out.resolved["repetitions"] = 1;
  out.memory = memory_of(*engine_);
  return out;
}

}  // namespace reprise::experiments
