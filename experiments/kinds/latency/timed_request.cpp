#include "experiments/kinds/latency/timed_request.h"

#include <algorithm>

#include "core/base/error.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {

TimedRequest run_timed(const methods::Method& method, engine::Engine& engine,
                       engine::Request request) {
  TimedRequest timed{.begin_ns = now_ns(), .events = {}};
  engine.submit(std::move(request));
  timed.events = engine.run();
  engine::require_served(timed.events);
  REPRISE_CHECK(!timed.events.empty());
  timed.counts = method.counts();
  return timed;
}

void RequestSamples::add(const TimedRequest& timed) {
  const std::vector<engine::TokenEvent>& events = timed.events;
  const int64_t first_ns = events.front().time_ns, last_ns = events.back().time_ns;
  ttft_ms.push_back(ms_of(first_ns - timed.begin_ns));
  e2e_ms.push_back(ms_of(last_ns - timed.begin_ns));
  reused_tokens.push_back(events.back().cached_tokens);
  parts.add(timed.counts);
  if (events.size() > 1)
    tpot_ms.push_back(ms_of(last_ns - first_ns) / static_cast<double>(events.size() - 1));
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
  samples.parts.add_to(out);
  std::vector<double> compute_ms;
  for (size_t r = 0; r < samples.parts.sums_ms().size(); ++r)
    compute_ms.push_back(samples.ttft_ms[r] - samples.parts.sums_ms()[r]);
  out.sample(kComputeMs, compute_ms);
}

void add_speedup(const RequestSamples& first, const RequestSamples& samples, Measurement& out) {
  std::vector<double> ratios;
  for (size_t r = 0; r < std::min(first.ttft_ms.size(), samples.ttft_ms.size()); ++r)
    ratios.push_back(first.ttft_ms[r] / samples.ttft_ms[r]);
  out.sample(kTtftSpeedup, ratios);
  samples.taking.mark_comparison(first.taking, kTtftSpeedup, out);
}

}  // namespace reprise::experiments
