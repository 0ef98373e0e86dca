#include "experiments/kinds/ttft.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/device/buffer.h"
#include "experiments/kinds/costs.h"
#include "results/statistics.h"

namespace reprise::experiments {
namespace {

struct Samples {
  std::vector<double> ttft_ms, tpot_ms, e2e_ms;
  std::vector<int32_t> tokens;  // of all repetitions, one after another
};

double ms(int64_t ns) { return static_cast<double>(ns) * 1e-6; }

// Runs one request to its end; empty samples during warm-up.
void run_request(engine::Engine& engine, engine::Request request, Samples* samples) {
  const int64_t submitted_ns = now_ns();
  engine.submit(std::move(request));
  const std::vector<engine::TokenEvent> events = engine.run();
  engine::require_served(events);
  REPRISE_CHECK(!events.empty());
  if (samples == nullptr) return;
  const int64_t first_ns = events.front().time_ns, last_ns = events.back().time_ns;
  samples->ttft_ms.push_back(ms(first_ns - submitted_ns));
  samples->e2e_ms.push_back(ms(last_ns - submitted_ns));
  if (events.size() > 1)
    samples->tpot_ms.push_back(ms(last_ns - first_ns) / static_cast<double>(events.size() - 1));
  for (const engine::TokenEvent& event : events) samples->tokens.push_back(event.token);
}

// Rates that follow from the median TTFT.
void add_rates(Json& metrics, double ttft_ms, const Group& group, const model::ModelConfig& config,
               const Json& machine) {
  const int64_t tokens = group.axis("prompt_tokens");
  const double gflop_s = prefill_flop(config, 0, tokens) / (ttft_ms * 1e6);
  metrics["prefill_tokens_per_s"] =
      results::metric_json(static_cast<double>(tokens) / (ttft_ms * 1e-3), "tokens/s");
  metrics["prefill_gflop_s"] = results::metric_json(gflop_s, "GFLOP/s");
  // Against the machine's rate stands only arithmetic that was done.
  if (metrics.contains("reused_tokens") && metrics["reused_tokens"]["value"] > 0) return;
  if (const double limit = gflop_limit(machine, group.dtype); limit > 0)
    metrics["compute_limit_ratio"] = results::metric_json(gflop_s / limit, "ratio");
}

Measurement measurement_of(const Samples& samples, engine::Engine& engine, const Group& group,
                           const model::Decoder& decoder, double prefix_ms, const Json& machine) {
  Measurement out;
  out.metrics = method_metrics(engine, group, group.repetitions + group.warmup);
  out.metrics["prefix_ms"] = results::metric_json(prefix_ms, "ms");
  const auto add = [&](const char* name, const std::vector<double>& values) {
    if (values.empty()) return;
    out.samples[name] = values;
    out.metrics[name] = results::metric_json(results::summarize(values), "ms");
  };
  add("ttft_ms", samples.ttft_ms);
  add("tpot_ms", samples.tpot_ms);
  add("e2e_ms", samples.e2e_ms);
  add_rates(out.metrics, out.metrics["ttft_ms"]["value"], group, decoder.config(), machine);
  out.resolved = resolved_settings(engine, decoder);
  out.memory = memory_of(engine);
  return out;
}

}  // namespace

void TtftKind::check(const Group& group) { check_prompts(group, 1); }

std::vector<Measurement> TtftKind::measure(const Group& group, const Json& machine,
                                           const std::atomic<bool>& stop) {
  const int64_t prompt_tokens = group.axis("prompt_tokens"), new_tokens = group.axis("new_tokens");
  AlignedBuffer::reset_peak();
  const model::Decoder& decoder = bench_.decoder(group);
  std::vector<std::unique_ptr<engine::Engine>> engines;
  std::vector<double> prefix_ms;
  for (size_t m = 0; m < group.methods.size(); ++m) {
    if (stop) throw Interrupted{};
    engines.push_back(bench_.make_engine(group, m, 1, prompt_tokens + new_tokens));
    prefix_ms.push_back(bench_.declare_prefix(*engines.back(), group));
  }

  std::vector<Samples> samples(engines.size());
  for (int64_t r = -group.warmup; r < group.repetitions; ++r) {
    const bool is_warmup = r < 0;
    const int64_t request = is_warmup ? group.repetitions - r : r;
    const std::vector<int32_t> prompt = bench_.prompt(group, request);
    for (size_t m = 0; m < engines.size(); ++m) {
      if (stop) throw Interrupted{};
      run_request(*engines[m], make_request(group, request, prompt, new_tokens),
                  is_warmup ? nullptr : &samples[m]);
    }
  }

  return measurements_of(group, samples, [&](size_t m) {
    return measurement_of(samples[m], *engines[m], group, decoder, prefix_ms[m], machine);
  });
}

}  // namespace reprise::experiments
