// Times one request at a time, token by token, and splits the time to first token into the parts
// that the method reports. Shared by the kinds "ttft" and "pml".
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
  int64_t begin_ns = 0;                    // time just before the request was submitted
  std::vector<engine::TokenEvent> events;  // at least one
  methods::TurnCounts counts = {};         // the method's counts for this request
};

// Runs one request to its end. Throws Error if the engine refuses it.
TimedRequest run_timed(const methods::Method& method, engine::Engine& engine,
                       engine::Request request);

// One method's repetitions in the order they were taken.
struct RequestSamples {
  std::vector<double> ttft_ms, tpot_ms, e2e_ms;
  std::vector<int64_t> reused_tokens;  // prompt tokens whose keys and values were there already
  TurnPartSamples parts;               // parts of the TTFT
  std::vector<int32_t> tokens;         // tokens of all repetitions, one after another
  Undisturbed taking;

  void add(const TimedRequest& timed);
};

// Empty samples for a group's methods, which run on the context's threads.
[[nodiscard]] std::vector<RequestSamples> samples_for(const Group& group, const Context& context);

// Takes one method's turn: one sample of run(), which returns a TimedRequest. A sample is taken
// again if other programs used its core. Before each try, Method::begin_turn() makes the method's
// caches as cold as its options say. With `is_warmup`, run() is called and its result dropped.
template <typename Run>
void take_turn(bool is_warmup, methods::Method& method, RequestSamples& samples, Run&& run) {
  if (is_warmup)
    run();
  else
    samples.add(samples.taking.take([&] { method.begin_turn(); }, run));
}

// Adds the times as metrics: TTFT with its parts, TPOT and end to end.
void add_times(const RequestSamples& samples, Measurement& out);

// Adds ttft_speedup: in each repetition, the TTFT of the first method divided by that of `samples`.
void add_speedup(const RequestSamples& first, const RequestSamples& samples, Measurement& out);

}  // namespace reprise::experiments
