#include "experiments/kinds/latency/ttft.h"

#include <algorithm>

#include "core/base/error.h"
#include "experiments/framework/shared_info.h"
#include "experiments/kinds/latency/prompt_lengths.h"
#include "experiments/kinds/latency/rates_beside.h"
#include "experiments/kinds/latency/timed_request.h"
#include "experiments/kinds/shared/costs.h"
#include "results/statistics.h"

namespace reprise::experiments {
namespace {

const MetricInfo kPrefillGflopS = {"prefill_gflop_s", "GFLOP/s",
                                   "arithmetic of a prefill without reuse over the TTFT"};
const MetricInfo kComputeLimitRatio = {
    "compute_limit_ratio", "ratio",
    "the same over this machine's measured rate, for methods that reused nothing"};

const MetricInfo kTtftLimitMs = {
    "ttft_limit_ms", "ms",
    "least time for what was not reused: the larger of its arithmetic over this machine's rate "
    "and the bytes of weights and of reused keys and values over the DRAM's"};
const MetricInfo kOverLimit = {"ttft_over_limit", "ratio",
                               "the time to first token over that least time"};
// A metric of models whose weights are read from memory.
const MetricInfo kOverBeside = {
    "ttft_over_beside", "ratio",
    "the time to first token over the least time at the rates that the machine had right after it"};

TtftAxes axes_of(const Group& group) { return with_lengths(group.axes_as<TtftAxes>()); }

PrefillWork work_of(const Group& group, int64_t reused) {
  return {.reused = reused, .tokens = axes_of(group).prompt_tokens - reused};
}

// `beside` has the machine's rates after each sample, or is empty. Each sample has the limit of
// what it did not reuse: the first request of a cache that retains requests reuses less than later
// ones.
void add_limit(Measurement& out, const Group& group, const model::ModelConfig& config,
               const Machine& machine, const RequestSamples& samples,
               const std::vector<Rates>& beside) {
  const Rates probe{.gflop_s = gflop_limit(machine, group.dtype), .gb_s = dram_limit(machine)};
  // The experts that a prompt's tokens are routed to are not known in advance.
  if (config.experts.count > 0 || probe.gflop_s <= 0 || probe.gb_s <= 0) return;
  std::vector<double> limits_ms, over_limit, over_beside;
  for (size_t r = 0; r < samples.ttft_ms.size(); ++r) {
    const PrefillWork work = work_of(group, samples.reused_tokens[r]);
    limits_ms.push_back(prefill_limit_ms(group, config, work, probe));
    over_limit.push_back(samples.ttft_ms[r] / limits_ms[r]);
    if (!beside.empty())
      over_beside.push_back(samples.ttft_ms[r] / prefill_limit_ms(group, config, work, beside[r]));
  }
  out.set(kTtftLimitMs, results::summarize(limits_ms).median);
  out.summarize_timed(kOverLimit, over_limit);
  if (!over_beside.empty()) out.summarize_timed(kOverBeside, over_beside);
}

// Adds rates that follow from the TTFT.
void add_rates(Measurement& out, const Group& group, const model::ModelConfig& config,
               const Machine& machine) {
  const int64_t tokens = axes_of(group).prompt_tokens;
  const double flop = prefill_flop(config, 0, tokens);
  out.derive(kPrefillTokensPerS, kTtftMs,
             [&](double ttft_ms) { return static_cast<double>(tokens) / (ttft_ms * 1e-3); });
  out.derive(kPrefillGflopS, kTtftMs, [&](double ttft_ms) { return flop / (ttft_ms * 1e6); });
  // If tokens were reused, not all of the arithmetic was done, so its rate is not compared with the
  // machine's.
  if (out.value(kReusedTokens) > 0) return;
  if (const double limit = gflop_limit(machine, group.dtype); limit > 0)
    out.derive(kComputeLimitRatio, kPrefillGflopS, [&](double gflop_s) { return gflop_s / limit; });
}

Measurement measurement_of(const RequestSamples& samples, const Bench::Lane& lane,
                           const Group& group, const model::Decoder& decoder,
                           const Machine& machine, const std::vector<Rates>& beside) {
  engine::Engine& engine = *lane.engine;
  Measurement out;
  const int64_t requests = group.repetitions + group.warmup + samples.taking.retaken();
  out.metrics = method_metrics(engine, axes_of(group), requests);
  add_report(*lane.method, out);
  out.set(kPrefixMs, lane.prefix_ms);
  samples.taking.add_to(out);
  add_times(samples, out);
  add_rates(out, group, decoder.config(), machine);
  add_limit(out, group, decoder.config(), machine, samples, beside);
  update(out.resolved, resolved_settings(engine, decoder, lane.method->exactness()));
  add_lengths(axes_of(group), out.resolved);
  out.memory = memory_of(engine);
  return out;
}

}  // namespace

KindInfo TtftKind::info() {
  KindInfo info{
      .name = "ttft",
      .summary = "one request at a time: time to first token, then time per further token",
      .axes = list_axes<TtftAxes>(),
      .metrics = {kTtftMs, kTpotMs, kE2eMs, kPrefixMs, kPrefillTokensPerS, kPrefillGflopS,
                  kComputeLimitRatio, kTtftSpeedup, kTtftLimitMs, kOverLimit, kOverBeside,
                  kComputeMs, kKvMb}};
  add_method_metrics(MethodUse::kGeneration, /*takes_turns=*/true, info.metrics);
  return info;
}

void TtftKind::check(const Group& group) {
  const TtftAxes axes = axes_of(group);
  bench_.check(group, axes);
  const int64_t shared = axes.shared_tokens, modules = axes.modules;
  if (modules > std::max<int64_t>(1, shared))
    raise("modules is {}, but there are {} shared tokens: a module has at least one", modules,
          shared);
}

MemoryNeed TtftKind::memory_need(const Group& group) {
  return memory_of_prompts(group, axes_of(group), /*sequences=*/1, /*take_turns=*/true);
}

std::vector<Measurement> TtftKind::measure(const Group& group, const Machine& machine,
                                           const std::atomic<bool>& stop) {
  const TtftAxes axes = axes_of(group);
  bench_.use_calibration(machine);
  const std::vector<Bench::Lane> lanes = bench_.make_lanes(group, axes, /*max_batch=*/1, stop);
  const model::Decoder& decoder = bench_.decoder(group);
  std::vector<RequestSamples> samples = samples_for(group, bench_.context());
  // A cache that retains requests would answer a repeated request, so no request is repeated.
  for (size_t m = 0; m < lanes.size(); ++m)
    if (lanes[m].engine->cache().retains()) samples[m].taking = Undisturbed();
  const auto weights =
      static_cast<double>(streamed_weight_bytes(decoder.config(), group.weight_type(), 0));
  RatesBeside beside(group, weights, bench_.context(), machine);
  for (int64_t r = -group.warmup; r < group.repetitions; ++r) {
    const int64_t request = r < 0 ? group.repetitions - r : r;
    const std::vector<int32_t> prompt = bench_.prompt(group, axes, request);
    for (size_t m = 0; m < lanes.size(); ++m) {
      begin_turn(group, r, m, stop);
      take_turn(/*is_warmup=*/r < 0, *lanes[m].method, samples[m], [&] {
        return run_timed(*lanes[m].method, *lanes[m].engine,
                         make_request(group, request, prompt, axes.new_tokens));
      });
      if (r >= 0) beside.take(m);
    }
  }

  return measurements_of(group, samples, [&](size_t m) {
    Measurement out = measurement_of(samples[m], lanes[m], group, decoder, machine, beside.of(m));
    if (m > 0) add_speedup(samples[0], samples[m], out);
    return out;
  });
}

}  // namespace reprise::experiments
