#include "experiments/kinds/latency/decode.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/device/machine_probe.h"
#include "experiments/framework/shared_info.h"
#include "experiments/framework/undisturbed.h"
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
  std::vector<double> beside_gb_s, steps_beside_gb_s;  // of each batch, of each step; or none
  std::vector<int32_t> tokens;                         // of all repetitions, by request
  Undisturbed taking;
};

// The times of one batch, from its submission to its last token.
struct Timed {
  int64_t submitted_ns;
  std::vector<engine::TokenEvent> events;
  int64_t touched_experts = 0;  // by the last step
  double beside_gb_s = 0;       // 0: not measured
};

double ms(int64_t ns) { return static_cast<double>(ns) * 1e-6; }

Timed run_batch(engine::Engine& engine, const model::Decoder& decoder, const Group& group,
                int64_t new_tokens, const std::vector<std::vector<int32_t>>& prompts) {
  const auto batch = static_cast<int64_t>(prompts.size());
  Timed run{.submitted_ns = now_ns()};
  for (int64_t b = 0; b < batch; ++b)
    engine.submit(make_request(group, b, prompts[static_cast<size_t>(b)], new_tokens));
  run.events = engine.run();
  engine::require_served(run.events);
  // All sequences end together, so the last step was one of the whole batch.
  run.touched_experts = decoder.touched_experts();
  return run;
}

void add(Timed run, int64_t batch, Samples* samples) {
  auto& [submitted_ns, events, touched_experts, beside_gb_s] = run;
  samples->touched_experts.push_back(static_cast<double>(touched_experts));
  const TimedBatch timed = split_steps(submitted_ns, events, batch);
  samples->prefill_ms.push_back(timed.prefill_ms);
  samples->step_ms.insert(samples->step_ms.end(), timed.step_ms.begin(), timed.step_ms.end());
  if (beside_gb_s > 0) {
    samples->beside_gb_s.push_back(beside_gb_s);
    samples->steps_beside_gb_s.resize(samples->step_ms.size(), beside_gb_s);
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.request < b.request; });
  for (const engine::TokenEvent& event : events) samples->tokens.push_back(event.token);
}

Measurement measurement_of(const Samples& samples, const Bench::Lane& lane, const Group& group,
                           const model::Decoder& decoder, const Machine& machine) {
  engine::Engine& engine = *lane.engine;
  const auto axes = group.axes_as<DecodeAxes>();
  const int64_t batch = axes.batch, prompt_tokens = axes.prompt_tokens;
  Measurement out;
  out.metrics = method_metrics(
      engine, axes, (group.repetitions + group.warmup + samples.taking.retaken()) * batch);
  if (samples.step_ms.empty())
    raise(
        "no decode step was seen with all {} sequences at once; generate more with --set "
        "settings.new_tokens={}",
        batch, 2 * axes.new_tokens);
  const double context =
      static_cast<double>(prompt_tokens) + static_cast<double>(axes.new_tokens) / 2;
  const double touched_experts = results::summarize(samples.touched_experts).median;
  const double bytes = decode_bytes(decoder.config(), group.weight_type(), group.kv_dtype,
                                    {.batch = batch,
                                     .context = context,
                                     .shared = axes.shared_tokens,
                                     .touched_experts = std::llround(touched_experts)});
  const MemoryLimit limit = memory_limit(machine, bytes);

  samples.taking.add_to(out);
  out.sample(kStepMs, samples.step_ms);
  out.sample(kPrefillMs, samples.prefill_ms);
  out.set(kPrefixMs, lane.prefix_ms);
  if (touched_experts > 0) out.set(kTouchedExperts, touched_experts);
  out.derive(kDecodeTokensPerS, kStepMs,
             [&](double step_ms) { return static_cast<double>(batch) / (step_ms * 1e-3); });
  out.derive(kPrefillTokensPerS, kPrefillMs, [&](double prefill_ms) {
    return static_cast<double>(batch * prompt_tokens) / (prefill_ms * 1e-3);
  });
  out.set(kStreamedBytes, bytes);
  out.derive(kStreamedGbS, kStepMs, [&](double step_ms) { return bytes / (step_ms * 1e6); });
  if (limit.gb_s > 0)
    out.derive(kMemoryLimitRatio, kStreamedGbS, [&](double gb_s) { return gb_s / limit.gb_s; });
  if (!samples.beside_gb_s.empty()) {
    std::vector<double> ratios;
    for (size_t step = 0; step < samples.step_ms.size(); ++step)
      ratios.push_back(bytes / (samples.step_ms[step] * 1e6) / samples.steps_beside_gb_s[step]);
    out.summarize(kReadBesideGbS, samples.beside_gb_s);
    out.summarize_timed(kMemoryBesideRatio, ratios);
  }
  const double flop = decode_flop(decoder.config(), batch, context);
  if (const double most = gflop_limit(machine, group.dtype); most > 0)
    out.derive(kComputeLimitRatio, kStepMs,
               [&](double step_ms) { return flop / (step_ms * 1e6) / most; });
  add_report(*lane.method, out);
  update(out.resolved, resolved_settings(engine, decoder, lane.method->exactness()));
  out.resolved["memory_limit_level"] = limit.level;
  out.memory = memory_of(engine);
  return out;
}

// True if a step reads more than the caches hold. Otherwise reading memory after each batch would
// evict the model from the caches.
bool reads_memory(const Group& group, const model::ModelConfig& config, const Machine& machine) {
  const auto axes = group.axes_as<DecodeAxes>();
  const double bytes = decode_bytes(config, group.weight_type(), group.kv_dtype,
                                    {.batch = axes.batch,
                                     .context = static_cast<double>(axes.prompt_tokens),
                                     .shared = axes.shared_tokens});
  return std::string_view(memory_limit(machine, bytes).level) == "dram";
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
      timed.prefill_ms = ms(event.time_ns - submitted_ns);
      step_begin_ns = event.time_ns;
      continue;
    }
    if (event.time_ns == step_begin_ns) continue;  // of the step that ended the prefill
    if (++in_step < batch) continue;
    timed.step_ms.push_back(ms(event.time_ns - step_begin_ns));
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
                  kComputeLimitRatio, kKvMb}};
  add_method_metrics(MethodUse::kGeneration, /*takes_turns=*/false, info.metrics);
  return info;
}

void DecodeKind::check(const Group& group) { bench_.check(group, group.axes_as<DecodeAxes>()); }

MemoryNeed DecodeKind::memory_need(const Group& group) {
  const auto axes = group.axes_as<DecodeAxes>();
  return memory_of_prompts(group, axes, axes.batch);
}

std::vector<Measurement> DecodeKind::measure(const Group& group, const Machine& machine,
                                             const std::atomic<bool>& stop) {
  const auto axes = group.axes_as<DecodeAxes>();
  const int64_t batch = axes.batch;
  bench_.use_calibration(machine);
  const std::vector<Bench::Lane> lanes = bench_.make_lanes(group, axes, batch, stop);
  const model::Decoder& decoder = bench_.decoder(group);
  std::vector<Samples> samples(lanes.size());
  for (Samples& of_method : samples)
    of_method.taking = Undisturbed(group.repetitions, bench_.context());
  std::optional<MachineProbe> probe;
  if (reads_memory(group, decoder.config(), machine)) probe.emplace(bench_.context());
  for (int64_t r = -group.warmup; r < group.repetitions; ++r) {
    const bool is_warmup = r < 0;
    const int64_t item = is_warmup ? group.repetitions - r : r;
    std::vector<std::vector<int32_t>> prompts;
    for (int64_t b = 0; b < batch; ++b)
      prompts.push_back(bench_.prompt(group, axes, item * batch + b));
    for (size_t m = 0; m < lanes.size(); ++m) {
      begin_turn(group, r, m, stop);
      const auto run = [&] {
        return run_batch(*lanes[m].engine, decoder, group, axes.new_tokens, prompts);
      };
      if (is_warmup) {
        run();
      } else {
        Timed timed = samples[m].taking.take([] {}, run);
        if (probe) timed.beside_gb_s = probe->sample(Limit::kDramRead);
        add(std::move(timed), batch, &samples[m]);
      }
    }
  }

  return measurements_of(group, samples, [&](size_t m) {
    return measurement_of(samples[m], lanes[m], group, decoder, machine);
  });
}

}  // namespace reprise::experiments
