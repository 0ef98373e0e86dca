// Times one request at a time, token by token, and splits the time into the parts that its method
// reports. Shared by the kinds "ttft" and "pml".
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/engine.h"
#include "experiments/framework/kind.h"
#include "experiments/framework/undisturbed.h"
#include "experiments/kinds/shared/method_report.h"
#include "methods/method.h"

namespace reprise::experiments {

inline const MetricInfo kTtftMs = {"ttft_ms", "ms",
                                   "from submitting the request to its first token",
                                   /*has_percentiles=*/true};
inline const MetricInfo kTpotMs = {"tpot_ms", "ms",
                                   "mean time of a further token (with new_tokens > 1)",
                                   /*has_percentiles=*/true};
inline const MetricInfo kE2eMs = {"e2e_ms", "ms", "from submitting the request to its last token",
                                  /*has_percentiles=*/true};
inline const MetricInfo kTtftSpeedup = {
    "ttft_speedup", "ratio",
    "the first method's time to first token over this one's, repetition by repetition"};
inline const MetricInfo kComputeMs = {
    "compute_ms", "ms", "time to first token without the parts that the method took for itself",
    /*has_percentiles=*/true};

struct TimedRequest {
  int64_t begin_ns = 0;                    // before it was submitted
  std::vector<engine::TokenEvent> events;  // at least one
  methods::TurnCounts counts = {};         // the method's counts for this request
};

// Runs one request to its end. Throws Error if the engine refuses it.
TimedRequest run_timed(const methods::Method& method, engine::Engine& engine,
                       engine::Request request);

// One method's repetitions in the order they were taken.
struct RequestSamples {
  std::vector<double> ttft_ms, tpot_ms, e2e_ms;
  TurnPartSamples parts;        // parts of the TTFT
  std::vector<int32_t> tokens;  // tokens of all repetitions, one after another
  Undisturbed taking;

  void add(const TimedRequest& timed);
};

// Empty samples for a group's methods, which run on the context's threads.
[[nodiscard]] std::vector<RequestSamples> samples_for(const Group& group, const Context& context);

// One method's turn: a sample of run(), which returns a TimedRequest. It is taken again if other
// programs used its core. Before each sample the method begins a turn, which makes its caches as
// cold as its options say. A warm-up is run and dropped.
template <typename Run>
void take_turn(bool is_warmup, methods::Method& method, RequestSamples& samples, Run&& run) {
  if (is_warmup)
    run();
  else
    samples.add(samples.taking.take([&] { method.begin_turn(); }, run));
}

// Adds the times as metrics: TTFT with its parts, TPOT and end to end.
void add_times(const RequestSamples& samples, Measurement& out);

// Adds ttft_speedup: the first method's times over those of `samples`, repetition by repetition.
void add_speedup(const RequestSamples& first, const RequestSamples& samples, Measurement& out);

}  // namespace reprise::experiments
