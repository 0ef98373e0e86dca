#include "experiments/kinds/ttft.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "experiments/kinds/costs.h"
#include "experiments/kinds/shared_info.h"
#include "experiments/kinds/undisturbed.h"

namespace reprise::experiments {
namespace {

const MetricInfo kTtftMs = {"ttft_ms", "ms", "from submitting the request to its first token",
                            /*has_percentiles=*/true};
const MetricInfo kTpotMs = {"tpot_ms", "ms", "mean time of a further token (with new_tokens > 1)",
                            /*has_percentiles=*/true};
const MetricInfo kE2eMs = {"e2e_ms", "ms", "from submitting the request to its last token",
                           /*has_percentiles=*/true};
const MetricInfo kPrefillGflopS = {"prefill_gflop_s", "GFLOP/s",
                                   "arithmetic of a prefill without reuse over the TTFT"};
const MetricInfo kComputeLimitRatio = {
    "compute_limit_ratio", "ratio",
    "the same over this machine's measured rate, for methods that reused nothing"};

struct Samples {
  std::vector<double> ttft_ms, tpot_ms, e2e_ms;
  std::vector<int32_t> tokens;  // of all repetitions, one after another
  Undisturbed taking;
};

// Of one request.
struct Timed {
  int64_t submitted_ns;
  std::vector<engine::TokenEvent> events;
};

double ms(int64_t ns) { return static_cast<double>(ns) * 1e-6; }

// Runs one request to its end.
Timed run_request(engine::Engine& engine, engine::Request request) {
  Timed timed{.submitted_ns = now_ns(), .events = {}};
  engine.submit(std::move(request));
  timed.events = engine.run();
  engine::require_served(timed.events);
  REPRISE_CHECK(!timed.events.empty());
  return timed;
}

void add(const Timed& timed, Samples* samples) {
  const auto& [submitted_ns, events] = timed;
  const int64_t first_ns = events.front().time_ns, last_ns = events.back().time_ns;
  samples->ttft_ms.push_back(ms(first_ns - submitted_ns));
  samples->e2e_ms.push_back(ms(last_ns - submitted_ns));
  if (events.size() > 1)
    samples->tpot_ms.push_back(ms(last_ns - first_ns) / static_cast<double>(events.size() - 1));
  for (const engine::TokenEvent& event : events) samples->tokens.push_back(event.token);
}

// Rates that follow from the TTFT.
void add_rates(Measurement& out, const Group& group, const model::ModelConfig& config,
               const Json& machine) {
  const int64_t tokens = group.axis("prompt_tokens");
  const double flop = prefill_flop(config, 0, tokens);
  out.derive(kPrefillTokensPerS, kTtftMs,
             [&](double ttft_ms) { return static_cast<double>(tokens) / (ttft_ms * 1e-3); });
  out.derive(kPrefillGflopS, kTtftMs, [&](double ttft_ms) { return flop / (ttft_ms * 1e6); });
  // Against the machine's rate stands only arithmetic that was done.
  const auto reused = out.metrics.find(kReusedTokens.name);
  if (reused != out.metrics.end() && (*reused)["value"] > 0) return;
  if (const double limit = gflop_limit(machine, group.dtype); limit > 0)
    out.derive(kComputeLimitRatio, kPrefillGflopS, [&](double gflop_s) { return gflop_s / limit; });
}

Measurement measurement_of(const Samples& samples, const Bench::Lane& lane, const Group& group,
                           const model::Decoder& decoder, const Json& machine) {
  engine::Engine& engine = *lane.engine;
  Measurement out;
  out.metrics =
      method_metrics(engine, group, group.repetitions + group.warmup + samples.taking.retaken());
  out.set(kPrefixMs, lane.prefix_ms);
  out.sample(kTtftMs, samples.ttft_ms);
  out.sample(kTpotMs, samples.tpot_ms);
  out.sample(kE2eMs, samples.e2e_ms);
  add_rates(out, group, decoder.config(), machine);
  out.resolved = resolved_settings(engine, decoder);
  out.memory = memory_of(engine);
  samples.taking.add_to(out);
  return out;
}

}  // namespace

KindInfo TtftKind::info() {
  return {.name = "ttft",
          .summary = "one request at a time: time to first token, then time per further token",
          .axes = {kPromptTokensAxis,
                   {.name = "new_tokens",
                    .fallback = 1,
                    .accepted = Integers{1, kMostNewTokens},
                    .unit = "tokens",
                    .help = "tokens to generate, the first included"},
                   kPrefillChunkAxis,
                   kSharedTokensAxis},
          .metrics = {kTtftMs, kTpotMs, kE2eMs, kPrefixMs, kPrefillTokensPerS, kPrefillGflopS,
                      kComputeLimitRatio, kKvMb}};
}

void TtftKind::check(const Group& group) { bench_.check(group); }

MemoryNeed TtftKind::memory_need(const Group& group) { return memory_of_prompts(group, 1); }

std::vector<Measurement> TtftKind::measure(const Group& group, const Json& machine,
                                           const std::atomic<bool>& stop) {
  bench_.use_calibration(machine);
  const std::vector<Bench::Lane> lanes = bench_.make_lanes(group, /*max_batch=*/1, stop);
  const model::Decoder& decoder = bench_.decoder(group);
  std::vector<Samples> samples(lanes.size());
  for (Samples& of_method : samples) of_method.taking = Undisturbed(group.repetitions);
  for (int64_t r = -group.warmup; r < group.repetitions; ++r) {
    const bool is_warmup = r < 0;
    const int64_t request = is_warmup ? group.repetitions - r : r;
    const std::vector<int32_t> prompt = bench_.prompt(group, request);
    for (size_t m = 0; m < lanes.size(); ++m) {
      if (stop) throw Interrupted{};
      const auto run = [&] {
        return run_request(*lanes[m].engine,
                           make_request(group, request, prompt, group.axis("new_tokens")));
      };
      if (is_warmup) {
        run();
      } else {
        add(samples[m].taking.take([] {}, run), &samples[m]);
      }
    }
  }

  return measurements_of(group, samples, [&](size_t m) {
    return measurement_of(samples[m], lanes[m], group, decoder, machine);
  });
}

}  // namespace reprise::experiments
