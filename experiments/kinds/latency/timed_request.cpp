#include "experiments/kinds/latency/timed_request.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {
namespace {

double ms(int64_t ns) { return static_cast<double>(ns) * 1e-6; }

}  // namespace

TimedRequest run_timed(engine::Engine& engine, engine::Request request) {
  TimedRequest timed{.begin_ns = now_ns(), .events = {}};
  engine.submit(std::move(request));
  timed.events = engine.run();
  engine::require_served(timed.events);
  REPRISE_CHECK(!timed.events.empty());
  return timed;
}

TimedRequest run_timed(engine::Engine& engine, ModuleLane& modules, int64_t id,
                       const pml::CompiledPrompt& prompt, int64_t new_tokens,
                       uint64_t sampling_seed) {
  prompt_cache::PreparedPrompt prepared;
  const int64_t begin_ns = now_ns();
  engine::Request request = modules.prepare(id, prompt, new_tokens, prepared);
  request.sampling.seed = sampling_seed;
  TimedRequest timed = run_timed(engine, std::move(request));
  modules.done(id);
  prepared.runs.clear();  // so that the next prompt may be gathered where this one was
  timed.begin_ns = begin_ns;
  timed.prepared = std::move(prepared);
  timed.is_prepared = true;
  return timed;
}

void RequestSamples::add(const TimedRequest& timed) {
  const std::vector<engine::TokenEvent>& events = timed.events;
  const int64_t first_ns = events.front().time_ns, last_ns = events.back().time_ns;
  ttft_ms.push_back(ms(first_ns - timed.begin_ns));
  e2e_ms.push_back(ms(last_ns - timed.begin_ns));
  if (timed.is_prepared) {
    const prompt_cache::PrepareTimes& times = timed.prepared.times;
    lookup_ms.push_back(times.lookup_s * 1e3);
    copy_ms.push_back(times.copy_s * 1e3);
    repair_ms.push_back(times.repair_s * 1e3);
    compute_ms.push_back(ttft_ms.back() -
                         (times.lookup_s + times.encode_s + times.copy_s + times.repair_s) * 1e3);
    copied_bytes = timed.prepared.copied_bytes;
  }
  if (events.size() > 1)
    tpot_ms.push_back(ms(last_ns - first_ns) / static_cast<double>(events.size() - 1));
  for (const engine::TokenEvent& event : events) tokens.push_back(event.token);
}

std::vector<RequestSamples> samples_for(const Group& group, const Context& context) {
  std::vector<RequestSamples> samples(group.methods.size());
  for (RequestSamples& of_method : samples)
    of_method.taking = Undisturbed(group.repetitions, context);
  return samples;
}

void add_times(const RequestSamples& samples, Measurement& out) {
  out.sample(kTtftMs, samples.ttft_ms);
  out.sample(kTpotMs, samples.tpot_ms);
  out.sample(kE2eMs, samples.e2e_ms);
}

void add_parts(const RequestSamples& samples, const ModuleLane& modules, Measurement& out) {
  out.sample(kLookupMs, samples.lookup_ms);
  out.sample(kCopyMs, samples.copy_ms);
  out.sample(kRepairMs, samples.repair_ms);
  out.sample(kComputeMs, samples.compute_ms);
  out.set(kCopiedMb, static_cast<double>(samples.copied_bytes) * 1e-6);
  out.set(kModuleMb, static_cast<double>(modules.module_bytes()) * 1e-6);
  if (const double gb_s = modules.disk_gb_s(); gb_s > 0) out.set(kDiskGbS, gb_s);
}

void add_speedup(const RequestSamples& first, const RequestSamples& samples, Measurement& out) {
  std::vector<double> ratios;
  for (size_t r = 0; r < std::min(first.ttft_ms.size(), samples.ttft_ms.size()); ++r)
    ratios.push_back(first.ttft_ms[r] / samples.ttft_ms[r]);
  out.sample(kTtftSpeedup, ratios);
  samples.taking.mark_comparison(first.taking, kTtftSpeedup, out);
}

}  // namespace reprise::experiments
