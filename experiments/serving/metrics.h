// The metrics of a serving run, as functions of its log.
//
// Confidence intervals come from order statistics (results/quantile_interval.h) for percentiles,
// from the bootstrap for mean_normalised_latency_s, and from Wilson's formula for goodput_share.
// Percentiles of gaps between tokens have no interval, since gaps that end in the same step are not
// independent.
#pragma once

#include <vector>

#include "experiments/framework/kind.h"
#include "experiments/serving/latency.h"
#include "experiments/serving/request_log.h"
#include "experiments/serving/run.h"
#include "experiments/serving/validity.h"

namespace reprise::experiments::serving {

// Latencies of served requests, counted from the intended arrival; see latency.h.
inline const MetricInfo kTtftMs = {"ttft_ms", "ms", "from the intended arrival to the first token",
                                   /*has_percentiles=*/true};
inline const MetricInfo kTpotMs = {"tpot_ms", "ms",
                                   "mean time of a request's further tokens (of more than one)",
                                   /*has_percentiles=*/true};
inline const MetricInfo kItlMs = {"itl_ms", "ms", "from one token of a request to its next",
                                  /*has_percentiles=*/true};
inline const MetricInfo kEventGapMs = {
    "event_gap_ms", "ms",
    "from one event of a request to its next, of servers that send several tokens in one: most of "
    "their itl_ms are 0",
    /*has_percentiles=*/true};
inline const MetricInfo kTokensPerEvent = {"tokens_per_event", "tokens",
                                           "mean, of servers that send several tokens in one"};
inline const MetricInfo kE2eMs = {"e2e_ms", "ms", "from the intended arrival to the last token",
                                  /*has_percentiles=*/true};
inline const MetricInfo kNormalisedLatencyS = {"normalised_latency_s", "s/token",
                                               "a request's end-to-end time over its output tokens",
                                               /*has_percentiles=*/true};
inline const MetricInfo kMeanNormalisedLatencyS = {
    "mean_normalised_latency_s", "s/token",
    "mean over requests of end-to-end time over output tokens, as the papers plot it"};
inline const MetricInfo kQueueMs = {
    "queue_ms", "ms", "from the intended arrival until it joined the batch, of engines that tell",
    /*has_percentiles=*/true};

// Rates divide by duration_s.
inline const MetricInfo kDurationS = {"duration_s", "s",
                                      "from the start to the end of the last answer"};
inline const MetricInfo kOfferedRps = {"offered_rps", "1/s",
                                       "requests over the time of the last arrival (open loop)"};
inline const MetricInfo kThroughputRps = {"throughput_rps", "1/s", "requests served"};
inline const MetricInfo kOutputTokensPerS = {"output_tokens_per_s", "tokens/s",
                                             "tokens generated for served requests"};
inline const MetricInfo kTotalTokensPerS = {"total_tokens_per_s", "tokens/s",
                                            "prompt and generated tokens of served requests"};
inline const MetricInfo kGoodputRps = {"goodput_rps", "1/s",
                                       "requests served within the service level"};
inline const MetricInfo kGoodputShare = {"goodput_share", "ratio",
                                         "of the requests that ended, within the service level"};

inline const MetricInfo kRequests = {"ended_requests", "requests", "that ended, served or not"};
inline const MetricInfo kErrors = {"errors", "requests", "refused, failed or expired"};
inline const MetricInfo kPromptTokensTotal = {"prompt_tokens_total", "tokens",
                                              "prompt tokens of served requests"};
inline const MetricInfo kReusedTokens = {"reused_tokens", "tokens",
                                         "of these, found in the cache, of servers that tell"};
inline const MetricInfo kCachedTokenShare = {"cached_token_share", "ratio",
                                             "reused tokens over prompt tokens"};
inline const MetricInfo kReasoningTokens = {
    "reasoning_tokens", "tokens",
    "generated tokens that the server calls reasoning; all latencies count them as tokens"};
inline const MetricInfo kPreemptions = {"preemptions", "times", "of all requests together"};

// Metrics of engines that report their steps.
inline const MetricInfo kBatchMean = {"batch_mean", "requests",
                                      "in a step, over the time that steps took"};
inline const MetricInfo kBatchPeak = {"batch_peak", "requests", "in a step, at most"};
inline const MetricInfo kPeakKvMb = {"peak_kv_mb", "MB", "keys and values held, at most"};
inline const MetricInfo kIsValid = {"is_valid", "yes or no",
                                    "1: VALID, 0: INVALID, for the reasons in the record"};

// All metrics above, the most important first.
[[nodiscard]] const std::vector<MetricInfo>& serving_metrics();

struct MetricOptions {
  Slo slo;                   // goodput is computed if it is set
  bool is_open_loop = true;  // arrivals were drawn before the run
  double confidence = 0.95;  // confidence level of the intervals
  // Latency samples are kept request by request, for at most this many requests. A run with more
  // has only their summaries.
  int64_t most_samples = 100000;
};

// Returns the metrics, the samples and, in `answers`, the hash of all generated tokens of a log
// that passes check_log(). Leaves out metrics of values that the server did not report, and
// latencies if no request was served.
[[nodiscard]] Measurement measure(const RequestLog& log, const MetricOptions& options);

// Sets the fields of the verdict in out.answers, and the metric is_valid.
void add_verdict(const Verdict& verdict, Measurement& out);
// Sets the verdict of a later repetition if it is the first INVALID one.
void add_later_verdict(const Verdict& later, Measurement& out);
// Puts the reasons and reservations of `more` in front of those in out.answers. If `more` has a
// reason, the measurement becomes INVALID.
void add_to_verdict(const Verdict& more, Measurement& out);

// measure() of the run's log. Adds the verdict ({verdict, reasons, slo, ...}) to the answers. Adds
// to the resolved settings whether the cache was empty at the start, and the time to compute the
// prefixes.
[[nodiscard]] Measurement measure(const RunResult& result, const MetricOptions& options);

}  // namespace reprise::experiments::serving
