#include "experiments/kinds/latency/decode.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "experiments/framework/shared_info.h"
#include "experiments/framework/undisturbed.h"
#include "experiments/kinds/latency/rates_beside.h"
#include "experiments/kinds/shared/costs.h"
#include "experiments/kinds/shared/method_report.h"
#include "results/statistics.h"

namespace reprise::experiments {
namespace {

const MetricInfo kStepMs = {"step_ms", "ms", "one token for every sequence of the batch",
                            /*has_percentiles=*/true};
const MetricInfo kDecodeTokensPerS = {"decode_tokens_per_s", "tokens/s",
                                      "batch over the median step time"};
const MetricInfo kPrefillMs = {"prefill_ms", "ms",
                               "from submitting the batch to its last first token"};
const MetricInfo kStreamedBytes = {
    "streamed_bytes_per_step", "bytes",
    "what a step must read at least, weights and distinct keys and values once"};
const MetricInfo kStreamedGbS = {"streamed_gb_s", "GB/s",
                                 "what a step must read at least, weights and distinct keys and "
                                 "values once, over its time"};
const MetricInfo kPrefillBesideRatio = {"prefill_beside_ratio", "ratio",
                                        "the least time of computing the tokens that are not "
                                        "shared, at the machine's rates right after "
                                        "a batch, over prefill_ms"};
const MetricInfo kPrefillOverFirst = {"prefill_over_first", "ratio",
                                      "prefill_ms over the first method's, batch by batch"};
const MetricInfo kStepOverFirst = {
    "step_over_first", "ratio",
    "a batch's median step_ms over that of the first method, batch by batch"};
// A metric of models with experts.
const MetricInfo kTouchedExperts = {
    "touched_experts", "experts",
    "experts that the last step of a batch read, of all layers together: the median repetition"};
const MetricInfo kMemoryLimitRatio = {"memory_limit_ratio", "ratio",
                                      "the same over this machine's measured rate"};
// Metrics of steps that read from memory.
const MetricInfo kReadBesideGbS = {"beside_gb_s", "GB/s",
                                   "DRAM read rate measured after each batch"};
const MetricInfo kMemoryBesideRatio = {"memory_beside_ratio", "ratio",
                                       "streamed_gb_s over the rate measured after the batch"};
const MetricInfo kComputeLimitRatio = {
    "compute_limit_ratio", "ratio",
    "arithmetic of a step over its time and this machine's measured rate"};

struct DecodeAxes : RequestAxes {
  DecodeAxes() { new_tokens = 32; }
  int64_t batch = 1;

  void visit(AxisVisitor& visitor) {
    visitor.integer({"batch", "sequences", "sequences that decode together"}, {1, kMostSequences},
                    batch);
    visit_prompt_tokens(visitor);
    visitor.integer({"new_tokens", "tokens", "tokens each sequence generates"}, {2, kMostNewTokens},
                    new_tokens);
    visit_prefill_chunk(visitor);
    visit_shared_tokens(visitor);
  }
};

struct Samples {
  std::vector<double> step_ms, prefill_ms, touched_experts;
  std::vector<double> median_step_ms;  // of each batch; 0 if it has no step
  std::vector<int64_t> steps;          // of each batch
  std::vector<int32_t> tokens;         // of all repetitions, by request
  Undisturbed taking;
};

// The times of one batch, from its submission to its last token.
struct Timed {
  int64_t submitted_ns = 0;
  std::vector<engine::TokenEvent> events;
  int64_t touched_experts = 0;  // by the last step
};

Timed run_batch(engine::Engine& engine, const model::Decoder& decoder, const Group& group,
                int64_t new_tokens, const std::vector<std::vector<int32_t>>& prompts) {
  const auto batch = static_cast<int64_t>(prompts.size());
  Timed run{.submitted_ns = now_ns()};
  for (int64_t b = 0; b < batch; ++b)
    engine.submit(make_request(group, b, prompts[static_cast<size_t>(b)], new_tokens));
  run.events = engine.run();
  engine::require_served(run.events);
  // All sequences end together, so the last step contained the whole batch.
  run.touched_experts = decoder.touched_experts();
  return run;
}

void add(Timed run, int64_t batch, Samples* samples) {
  auto& [submitted_ns, events, touched_experts] = run;
  samples->touched_experts.push_back(static_cast<double>(touched_experts));
  const TimedBatch timed = split_steps(submitted_ns, events, batch);
  samples->prefill_ms.push_back(timed.prefill_ms);
  samples->step_ms.insert(samples->step_ms.end(), timed.step_ms.begin(), timed.step_ms.end());
  samples->steps.push_back(std::ssize(timed.step_ms));
  samples->median_step_ms.push_back(
      timed.step_ms.empty() ? 0 : results::summarize(timed.step_ms).median);
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.request < b.request; });
  for (const engine::TokenEvent& event : events)
    if (event.has_token()) samples->tokens.push_back(event.token);
}

DecodeStep step_of(const DecodeAxes& axes) {
  return {
      .batch = axes.batch,
      .context = static_cast<double>(axes.prompt_tokens) + static_cast<double>(axes.new_tokens) / 2,
      .shared = axes.shared_tokens};
}

// Adds metrics relative to the machine's rates measured right after each batch.
void add_beside(const Samples& samples, const Group& group, const model::ModelConfig& config,
                double bytes, const std::vector<Rates>& beside, Measurement& out) {
  if (beside.empty()) return;
  const auto axes = group.axes_as<DecodeAxes>();
  const PrefillWork work{.sequences = axes.batch,
                         .reused = axes.shared_tokens,
                         .tokens = axes.prompt_tokens - axes.shared_tokens};
  std::vector<double> gb_s, of_steps, of_prefills;
  size_t step = 0;
  for (size_t r = 0; r < beside.size(); ++r) {
    gb_s.push_back(beside[r].gb_s);
    for (int64_t left = samples.steps[r]; left > 0; --left)
      of_steps.push_back(bytes / (samples.step_ms[step++] * 1e6) / beside[r].gb_s);
    if (work.tokens > 0 && config.experts.count == 0)
      of_prefills.push_back(prefill_limit_ms(group, config, work, beside[r]) /
                            samples.prefill_ms[r]);
  }
  out.summarize(kReadBesideGbS, gb_s);
  out.summarize_timed(kMemoryBesideRatio, of_steps);
  if (!of_prefills.empty()) out.summarize_timed(kPrefillBesideRatio, of_prefills);
}

// Adds the times of one method or peer and the rates that follow from them.
void add_times(const Samples& samples, const Group& group, const model::ModelConfig& config,
               const Machine& machine, const std::vector<Rates>& beside, Measurement& out) {
  const auto axes = group.axes_as<DecodeAxes>();
  if (samples.step_ms.empty())
    raise(
        "no decode step was seen with all {} sequences at once; generate more with --set "
        "settings.new_tokens={}",
        axes.batch, 2 * axes.new_tokens);
  DecodeStep step = step_of(axes);
  const double touched_experts = results::summarize(samples.touched_experts).median;
  step.touched_experts = std::llround(touched_experts);
  const double bytes = decode_bytes(config, group.weight_type(), group.kv_dtype, step);
  const MemoryLimit limit = memory_limit(machine, bytes);

  samples.taking.add_to(out);
  out.sample(kStepMs, samples.step_ms);
  out.sample(kPrefillMs, samples.prefill_ms);
  if (touched_experts > 0) out.set(kTouchedExperts, touched_experts);
  out.derive(kDecodeTokensPerS, kStepMs,
             [&](double step_ms) { return static_cast<double>(axes.batch) / (step_ms * 1e-3); });
  out.derive(kPrefillTokensPerS, kPrefillMs, [&](double prefill_ms) {
    return static_cast<double>(axes.batch * axes.prompt_tokens) / (prefill_ms * 1e-3);
  });
  // Peers do not say which experts they read.
  const bool is_known = config.experts.count == 0 || touched_experts > 0;
  if (is_known) {
    out.set(kStreamedBytes, bytes);
    out.derive(kStreamedGbS, kStepMs, [&](double step_ms) { return bytes / (step_ms * 1e6); });
    if (limit.gb_s > 0)
      out.derive(kMemoryLimitRatio, kStreamedGbS, [&](double gb_s) { return gb_s / limit.gb_s; });
    add_beside(samples, group, config, bytes, beside, out);
  }
  const double flop = decode_flop(config, axes.batch, step.context);
  if (const double most = gflop_limit(machine, group.dtype); most > 0)
    out.derive(kComputeLimitRatio, kStepMs,
               [&](double step_ms) { return flop / (step_ms * 1e6) / most; });
  out.resolved["memory_limit_level"] = limit.level;
}

// Adds the counts and settings of a method. Peers have none.
void add_method(const Samples& samples, const Bench::Lane& lane, const Group& group,
                const model::Decoder& decoder, Measurement& out) {
  engine::Engine& engine = *lane.engine;
  const auto axes = group.axes_as<DecodeAxes>();
  out.metrics.merge(method_metrics(
      engine, axes, (group.repetitions + group.warmup + samples.taking.retaken()) * axes.batch));
  out.set(kPrefixMs, lane.prefix_ms);
  add_report(*lane.method, out);
  update(out.resolved, resolved_settings(engine, decoder, lane.method->exactness()));
  out.memory = memory_of(engine);
}

void add_over_first(const Samples& first, const Samples& samples, Measurement& out) {
  std::vector<double> steps, prefills;
  for (size_t r = 0; r < std::min(first.prefill_ms.size(), samples.prefill_ms.size()); ++r) {
    prefills.push_back(samples.prefill_ms[r] / first.prefill_ms[r]);
    if (first.median_step_ms[r] > 0 && samples.median_step_ms[r] > 0)
      steps.push_back(samples.median_step_ms[r] / first.median_step_ms[r]);
  }
  const auto add = [&](const MetricInfo& metric, const std::vector<double>& ratios) {
    out.sample(metric, ratios);
    if (!ratios.empty()) samples.taking.mark_comparison(first.taking, metric, out);
  };
  add(kStepOverFirst, steps);
  add(kPrefillOverFirst, prefills);
}

}  // namespace

TimedBatch split_steps(int64_t submitted_ns, const std::vector<engine::TokenEvent>& events,
                       int64_t batch) {
  TimedBatch timed;
  std::map<reuse::RequestId, bool> has_first;
  int64_t step_begin_ns = 0, in_step = 0;
  for (const engine::TokenEvent& event : events) {
    if (static_cast<int64_t>(has_first.size()) < batch) {
      has_first[event.request] = true;
      if (static_cast<int64_t>(has_first.size()) < batch) continue;
      timed.prefill_ms = ms_of(event.time_ns - submitted_ns);
      step_begin_ns = event.time_ns;
      continue;
    }
    if (event.time_ns == step_begin_ns) continue;  // a token of the prefill's last step
    if (++in_step < batch) continue;
    timed.step_ms.push_back(ms_of(event.time_ns - step_begin_ns));
    step_begin_ns = event.time_ns;
    in_step = 0;
  }
  return timed;
}

KindInfo DecodeKind::info() {
  KindInfo info{
      .name = "decode",
      .summary = "a batch of sequences that generate together: time and rate of a decode step",
      .axes = list_axes<DecodeAxes>(),
      .metrics = {kStepMs, kDecodeTokensPerS, kPrefillMs, kPrefixMs, kPrefillTokensPerS,
                  kStreamedGbS, kReadBesideGbS, kMemoryLimitRatio, kMemoryBesideRatio,
                  kComputeLimitRatio, kPrefillBesideRatio, kStepOverFirst, kPrefillOverFirst,
                  kKvMb},
      .series = peer_series()};
  add_method_metrics(MethodUse::kGeneration, /*takes_turns=*/false, info.metrics);
  return info;
}

std::string DecodeKind::missing(const MethodChoice& method) const {
  return is_peer(method) ? missing_peer(method) : "";
}

void DecodeKind::check(const Group& group) {
  check_peers(group, bench_.context());
  bench_.check(without_peers(group), group.axes_as<DecodeAxes>());
}

MemoryNeed DecodeKind::memory_need(const Group& group) {
  const auto axes = group.axes_as<DecodeAxes>();
  const Group own = without_peers(group);
  MemoryNeed need = memory_of_prompts(own, axes, axes.batch, /*take_turns=*/true);
  if (const size_t peers = group.methods.size() - own.methods.size(); peers > 0) {
    const int64_t tokens = axes.shared_tokens +
                           axes.batch * (axes.prompt_tokens + axes.new_tokens - axes.shared_tokens);
    need.bytes +=
        static_cast<double>(peers) *
        memory_of_model(Bench::config(group), group.weight_type(), group.kv_dtype, tokens).bytes;
    need.of_what += ", and about as much for each peer";
  }
  return need;
}

std::vector<Measurement> DecodeKind::measure(const Group& group, const Machine& machine,
                                             const std::atomic<bool>& stop) {
  const auto axes = group.axes_as<DecodeAxes>();
  const int64_t batch = axes.batch;
  bench_.use_calibration(machine);
  const Group own = without_peers(group);  // `own` has the first methods of `group`
  const std::vector<Bench::Lane> lanes = bench_.make_lanes(own, axes, batch, stop);
  const model::Decoder& decoder = bench_.decoder(group);
  const std::vector<std::unique_ptr<Peer>> peers = make_peers(group, stop);
  std::vector<Samples> samples(group.methods.size());
  // A disturbed batch is not repeated if a prefix cache could answer it: one of a peer, or one of
  // ours that retains requests. Beside peers there is a second reason: core use counts this process
  // alone, so disturbed samples of peers would not be found and repeated, but ours would.
  for (size_t m = 0; m < samples.size(); ++m) {
    const bool may_repeat = peers.empty() && !lanes[m].engine->cache().retains();
    samples[m].taking = Undisturbed(may_repeat ? group.repetitions : 0, bench_.context());
  }
  const double bytes =
      decode_bytes(decoder.config(), group.weight_type(), group.kv_dtype, step_of(axes));
  RatesBeside beside(group, bytes, bench_.context(), machine);
  for (int64_t r = -group.warmup; r < group.repetitions; ++r) {
    const bool is_warmup = r < 0;
    const int64_t item = is_warmup ? group.repetitions - r : r;
    PeerBatch asked{.shared_tokens = axes.shared_tokens, .new_tokens = axes.new_tokens};
    for (int64_t b = 0; b < batch; ++b)
      asked.prompts.push_back(bench_.prompt(group, axes, item * batch + b));
    for (size_t m = 0; m < samples.size(); ++m) {
      begin_turn(group, r, m, stop);
      const auto run = [&] {
        if (m >= lanes.size()) return Timed{.events = peers[m - lanes.size()]->run(asked, stop)};
        return run_batch(*lanes[m].engine, decoder, group, axes.new_tokens, asked.prompts);
      };
      if (is_warmup) {
        run();
      } else {
        add(samples[m].taking.take([] {}, run), batch, &samples[m]);
        beside.take(m);
      }
    }
  }

  return measurements_of(group, samples, [&](size_t m) {
    Measurement out;
    add_times(samples[m], group, decoder.config(), machine, beside.of(m), out);
    if (m > 0) add_over_first(samples[0], samples[m], out);
    if (m < lanes.size())
      add_method(samples[m], lanes[m], group, decoder, out);
    else
      out.resolved["peer"] = peers[m - lanes.size()]->about();
    return out;
  });
}

std::vector<std::unique_ptr<Peer>> DecodeKind::make_peers(const Group& group,
                                                          const std::atomic<bool>& stop) {
  const auto axes = group.axes_as<DecodeAxes>();
  const PeerRoom room{.batch = axes.batch, .tokens = axes.prompt_tokens + axes.new_tokens};
  std::vector<std::unique_ptr<Peer>> peers;
  for (const MethodChoice& method : group.methods) {
    if (!is_peer(method)) continue;
    tell("starting " + method.name);
    peers.push_back(std::make_unique<Peer>(method, group, room, bench_.context(), stop));
  }
  return peers;
}

}  // namespace reprise::experiments
