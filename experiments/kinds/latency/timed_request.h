// One request at a time, timed to the token and, where it imports modules, split into its parts:
// what the kinds "ttft" and "pml" have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/engine.h"
#include "experiments/framework/kind.h"
#include "experiments/framework/undisturbed.h"
#include "experiments/kinds/shared/module_lane.h"

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
// Of prompt_cache: the parts of its time to first token.
inline const MetricInfo kLookupMs = {"lookup_ms", "ms",
                                     "finding the modules' states, planning apart",
                                     /*has_percentiles=*/true};
inline const MetricInfo kCopyMs = {"copy_ms", "ms",
                                   "gathering them in one buffer, where that is asked for",
                                   /*has_percentiles=*/true};
inline const MetricInfo kRepairMs = {
    "repair_ms", "ms", "computing tokens of modules anew (mode repair)", /*has_percentiles=*/true};
inline const MetricInfo kComputeMs = {"compute_ms", "ms", "from there to the first token",
                                      /*has_percentiles=*/true};
inline const MetricInfo kCopiedMb = {"copied_mb", "MB", "keys and values copied for each request"};
inline const MetricInfo kDiskGbS = {"disk_gb_s", "GB/s",
                                    "plain reading of the modules' files from the cold disk (tier "
                                    "cold_disk)"};
inline const MetricInfo kModuleMb = {"module_mb", "MB", "states of all modules held"};

// Of one request.
struct TimedRequest {
  int64_t begin_ns = 0;                    // submitted, or begun to be prepared
  std::vector<engine::TokenEvent> events;  // at least one
  prompt_cache::PreparedPrompt prepared = {};
  bool is_prepared = false;
};

// Runs one request to its end. Throws Error where the engine refuses it.
TimedRequest run_timed(engine::Engine& engine, engine::Request request);

// The same of a prompt whose modules `modules` holds, which the engine has joined: prepared, run,
// and given up again.
TimedRequest run_timed(engine::Engine& engine, ModuleLane& modules, int64_t id,
                       const pml::CompiledPrompt& prompt, int64_t new_tokens,
                       uint64_t sampling_seed);

// Of one method's repetitions, in the order they were taken.
struct RequestSamples {
  std::vector<double> ttft_ms, tpot_ms, e2e_ms;
  std::vector<double> lookup_ms, copy_ms, repair_ms, compute_ms;  // of prepared requests
  int64_t copied_bytes = 0;                                       // of one request
  std::vector<int32_t> tokens;  // of all repetitions, one after another
  Undisturbed taking;

  void add(const TimedRequest& timed);
};

// Samples of a group's methods, which run on the context's threads, before the first is taken.
[[nodiscard]] std::vector<RequestSamples> samples_for(const Group& group, const Context& context);

// One method's turn: a sample of run(), which returns a TimedRequest, taken again where other
// programs took its core, and with its modules' files as cold as their tier says (`modules` null:
// there are none). A warm-up is run and dropped.
template <typename Run>
void take_turn(bool is_warmup, const ModuleLane* modules, RequestSamples& samples, Run&& run) {
  if (is_warmup) {
    run();
    return;
  }
  const auto prepare = [&] {
    if (modules != nullptr) modules->make_cold();
  };
  samples.add(samples.taking.take(prepare, run));
}

// The times as metrics: TTFT, TPOT and end to end.
void add_times(const RequestSamples& samples, Measurement& out);

// The parts of the TTFT, and what the modules take.
void add_parts(const RequestSamples& samples, const ModuleLane& modules, Measurement& out);

// ttft_speedup: the first method's times over those of `samples`, whose repetitions took turns.
void add_speedup(const RequestSamples& first, const RequestSamples& samples, Measurement& out);

}  // namespace reprise::experiments
