#include "experiments/serving/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "experiments/serving/validity.h"
#include "results/bootstrap.h"
#include "results/hash.h"
#include "results/proportion.h"
#include "results/quantile_interval.h"
#include "results/run_validity.h"
#include "results/statistics.h"

namespace reprise::experiments::serving {
namespace {

// Samples of served requests, in the order of their numbers.
struct Samples {
  std::vector<double> ttft_ms, tpot_ms, itl_ms, e2e_ms, normalised_s, queue_ms;
  // For servers that send several tokens in one event: tokens with equal times came in one event.
  // Empty and 0 if no event has several tokens.
  std::vector<double> event_gap_ms;
  double tokens_per_event = 0;
};

void add_events(const RequestLog& log, Samples& samples) {
  for (const double gap_ms : samples.itl_ms)
    if (gap_ms > 0) samples.event_gap_ms.push_back(gap_ms);
  if (samples.event_gap_ms.size() == samples.itl_ms.size()) {
    samples.event_gap_ms.clear();
    return;
  }
  int64_t tokens = 0, events = std::ssize(samples.event_gap_ms);
  for (const RequestEntry& entry : log.requests) {
    if (entry.outcome != Outcome::kServed) continue;
    tokens += std::ssize(entry.token_s);
    ++events;  // the request's first event; each gap adds one more
  }
  samples.tokens_per_event = static_cast<double>(tokens) / static_cast<double>(events);
}

Samples samples_of(const RequestLog& log) {
  Samples samples;
  // If the times of some requests' tokens were not kept, no gaps are used: the gaps that were kept
  // would be those of the shortest answers.
  const bool has_all_gaps =
      std::all_of(log.requests.begin(), log.requests.end(),
                  [](const RequestEntry& entry) { return entry.unkept_tokens == 0; });
  for (const RequestEntry& entry : log.requests) {
    if (entry.outcome != Outcome::kServed) continue;
    const Latency latency = latency_of(entry);
    samples.ttft_ms.push_back(1e3 * latency.ttft_s);
    samples.e2e_ms.push_back(1e3 * latency.e2e_s);
    samples.normalised_s.push_back(latency.normalised_s);
    if (entry.generated() > 1) samples.tpot_ms.push_back(1e3 * latency.tpot_s);
    for (size_t i = 1; has_all_gaps && i < entry.token_s.size(); ++i)
      samples.itl_ms.push_back(1e3 * (entry.token_s[i] - entry.token_s[i - 1]));
    if (entry.admitted_s >= 0)
      samples.queue_ms.push_back(1e3 * std::max(0.0, entry.admitted_s - entry.intended_s));
  }
  add_events(log, samples);
  return samples;
}

// Sums over all requests.
struct Totals {
  int64_t ended = 0, served = 0, errors = 0, within_slo = 0, preemptions = 0;
  int64_t prompt_tokens = 0, output_tokens = 0, reasoning_tokens = 0;
  int64_t cached_tokens = 0, told = 0;  // told: requests whose number of cached tokens is known
};

Totals totals_of(const RequestLog& log, const Slo& slo) {
  Totals totals;
  for (const RequestEntry& entry : log.requests) {
    totals.preemptions += entry.preemptions;
    if (entry.outcome == Outcome::kCancelled) continue;
    ++totals.ended;
    if (slo.is_kept_by(entry)) ++totals.within_slo;
    if (entry.outcome != Outcome::kServed) {
      ++totals.errors;
      continue;
    }
    ++totals.served;
    totals.prompt_tokens += entry.prompt_tokens;
    totals.output_tokens += entry.generated();
    totals.reasoning_tokens += entry.reasoning_tokens;
    if (entry.cached_tokens < 0) continue;
    ++totals.told;
    totals.cached_tokens += entry.cached_tokens;
  }
  return totals;
}

double ratio(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

// Adds the latencies of one log as metrics.
class Latencies {
 public:
  Latencies(Measurement& out, const MetricOptions& options, int64_t served)
      : out_(out), options_(options), keeps_(served <= options.most_samples) {}

  void take(const MetricInfo& metric, const std::vector<double>& samples) {
    if (samples.empty()) return;
    if (keeps_)
      out_.sample(metric, samples);
    else
      out_.summarize(metric, samples);
    results::add_percentile_intervals(samples, options_.confidence, out_.metrics[metric.name]);
    out_.metrics[metric.name].is_population = true;
  }
  void take_gaps(const MetricInfo& metric, const std::vector<double>& gaps_ms) {
    if (gaps_ms.empty()) return;
    out_.summarize(metric, gaps_ms);
    out_.metrics[metric.name].is_population = true;
  }
  void take_mean(const MetricInfo& metric, const std::vector<double>& samples) {
    if (samples.empty()) return;
    const auto count = static_cast<double>(samples.size());
    results::Metric& mean =
        out_.set(metric, std::accumulate(samples.begin(), samples.end(), 0.0) / count);
    mean.interval = results::bootstrap_mean(
        samples, {.confidence = options_.confidence, .resamples = resamples_for(count)});
    mean.confidence = options_.confidence;
  }

 private:
  // Returns the number of resamples that takes about a tenth of a second. With many requests this
  // is a small number, but then the interval is narrow.
  static int64_t resamples_for(double count) {
    constexpr double kDraws = 1e7;
    return static_cast<int64_t>(std::clamp(kDraws / count, 200.0, 1e4));
  }

  Measurement& out_;
  const MetricOptions& options_;
  bool keeps_;
};

void take_latencies(const RequestLog& log, const MetricOptions& options, int64_t served,
                    Measurement& out) {
  const Samples samples = samples_of(log);
  Latencies latencies(out, options, served);
  latencies.take(kTtftMs, samples.ttft_ms);
  latencies.take(kTpotMs, samples.tpot_ms);
  latencies.take_gaps(kItlMs, samples.itl_ms);
  latencies.take_gaps(kEventGapMs, samples.event_gap_ms);
  if (samples.tokens_per_event > 0) out.set(kTokensPerEvent, samples.tokens_per_event);
  latencies.take(kE2eMs, samples.e2e_ms);
  latencies.take(kNormalisedLatencyS, samples.normalised_s);
  latencies.take_mean(kMeanNormalisedLatencyS, samples.normalised_s);
  latencies.take(kQueueMs, samples.queue_ms);
}

void take_rates(const Totals& totals, double lasted_s, Measurement& out) {
  const auto per_s = [lasted_s](int64_t count) { return static_cast<double>(count) / lasted_s; };
  out.set(kDurationS, lasted_s);
  if (lasted_s <= 0) return;
  out.set(kThroughputRps, per_s(totals.served));
  out.set(kOutputTokensPerS, per_s(totals.output_tokens));
  out.set(kTotalTokensPerS, per_s(totals.prompt_tokens + totals.output_tokens));
}

void take_goodput(const Totals& totals, double lasted_s, double confidence, Measurement& out) {
  if (totals.ended == 0 || lasted_s <= 0) return;
  out.set(kGoodputRps, static_cast<double>(totals.within_slo) / lasted_s);
  results::Metric& share = out.set(kGoodputShare, ratio(totals.within_slo, totals.ended));
  share.interval = results::wilson_interval(totals.within_slo, totals.ended, confidence);
  share.confidence = confidence;
}

void take_counts(const Totals& totals, Measurement& out) {
  out.set(kRequests, static_cast<double>(totals.ended));
  out.set(kErrors, static_cast<double>(totals.errors));
  out.set(kPromptTokensTotal, static_cast<double>(totals.prompt_tokens));
  if (totals.reasoning_tokens > 0)
    out.set(kReasoningTokens, static_cast<double>(totals.reasoning_tokens));
  if (totals.told != totals.served || totals.served == 0) return;
  out.set(kReusedTokens, static_cast<double>(totals.cached_tokens));
  out.set(kCachedTokenShare, ratio(totals.cached_tokens, totals.prompt_tokens));
}

void take_steps(const std::vector<StepEntry>& steps, int64_t preemptions, Measurement& out) {
  if (steps.empty()) return;
  double batch_s = 0, busy_s = 0;
  int64_t peak = 0, peak_bytes = 0;
  for (const StepEntry& step : steps) {
    const double took_s = step.end_s - step.start_s;
    batch_s += took_s * static_cast<double>(step.batch);
    busy_s += took_s;
    peak = std::max(peak, step.batch);
    peak_bytes = std::max(peak_bytes, step.kv_bytes);
  }
  if (busy_s > 0) out.set(kBatchMean, batch_s / busy_s);
  out.set(kBatchPeak, static_cast<double>(peak));
  out.set(kPeakKvMb, static_cast<double>(peak_bytes) / 1e6);
  out.set(kPreemptions, static_cast<double>(preemptions));
}

// Adds the offered rate: requests over the time of the last intended arrival.
void take_offered(const RequestLog& log, Measurement& out) {
  double last_s = 0;
  for (const RequestEntry& entry : log.requests) last_s = std::max(last_s, entry.intended_s);
  if (last_s > 0) out.set(kOfferedRps, static_cast<double>(log.requests.size()) / last_s);
}

// Hashes the tokens of served requests whose tokens are known, with the requests' numbers, so that
// the same tokens for another request give another hash.
void hash_tokens(const RequestLog& log, Measurement& out) {
  uint64_t hash = results::kHashStart;
  int64_t generated = 0;
  for (const RequestEntry& entry : log.requests) {
    if (entry.outcome != Outcome::kServed || entry.tokens.empty()) continue;
    hash = results::hash_bytes(fmt::format("{}:", entry.index), hash);
    hash = results::hash_ids(entry.tokens, hash);
    generated += static_cast<int64_t>(entry.tokens.size());
  }
  if (generated == 0) return;
  out.answers["tokens_hash"] = results::hash_text(hash);
  out.answers["generated_tokens"] = generated;
}

}  // namespace

const std::vector<MetricInfo>& serving_metrics() {
  static const std::vector<MetricInfo> metrics = {kTtftMs,
                                                  kTpotMs,
                                                  kNormalisedLatencyS,
                                                  kMeanNormalisedLatencyS,
                                                  kE2eMs,
                                                  kItlMs,
                                                  kEventGapMs,
                                                  kTokensPerEvent,
                                                  kQueueMs,
                                                  kOfferedRps,
                                                  kThroughputRps,
                                                  kOutputTokensPerS,
                                                  kTotalTokensPerS,
                                                  kGoodputRps,
                                                  kGoodputShare,
                                                  kDurationS,
                                                  kRequests,
                                                  kErrors,
                                                  kPromptTokensTotal,
                                                  kReusedTokens,
                                                  kCachedTokenShare,
                                                  kReasoningTokens,
                                                  kPreemptions,
                                                  kBatchMean,
                                                  kBatchPeak,
                                                  kPeakKvMb,
                                                  kIsValid};
  return metrics;
}

Measurement measure(const RequestLog& log, const MetricOptions& options) {
  Measurement out;
  const Totals totals = totals_of(log, options.slo);
  const double lasted_s = duration_s(log);
  take_latencies(log, options, totals.served, out);
  take_rates(totals, lasted_s, out);
  if (options.is_open_loop) take_offered(log, out);
  if (options.slo.is_set()) take_goodput(totals, lasted_s, options.confidence, out);
  take_counts(totals, out);
  take_steps(log.steps, totals.preemptions, out);
  hash_tokens(log, out);
  return out;
}

void add_verdict(const Verdict& verdict, Measurement& out) {
  update(out.answers, verdict.fields());
  out.set(kIsValid, verdict.is_valid() ? 1 : 0);
}

void add_later_verdict(const Verdict& later, Measurement& out) {
  if (results::invalid_remark(out.answers).empty() && !later.is_valid()) add_verdict(later, out);
}

void add_to_verdict(const Verdict& more, Measurement& out) {
  const auto put_in_front = [&](const char* name, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    Values all(texts.begin(), texts.end());
    if (const Value& present = field_of(out.answers, name); present.is_list())
      all.insert(all.end(), present.list().begin(), present.list().end());
    out.answers[name] = std::move(all);
  };
  put_in_front("reasons", more.reasons);
  put_in_front("reservations", more.reservations);
  if (more.is_valid()) return;
  out.answers["verdict"] = "INVALID";
  out.set(kIsValid, 0);
}

Measurement measure(const RunResult& result, const MetricOptions& options) {
  Measurement out = measure(result.log, options);
  add_verdict(result.verdict, out);
  out.resolved["was_flushed"] = result.was_flushed;
  if (result.own_answers + result.invented_answers > 0) {
    out.answers["own_answers"] = result.own_answers;
    out.answers["invented_answers"] = result.invented_answers;
  }
  if (const auto& [by_rule, too_long, cut] = result.dropped; by_rule + too_long + cut > 0)
    out.answers["recorded_requests"] =
        Fields{{"left_out_by_rule", by_rule}, {"left_out_too_long", too_long}, {"cut", cut}};
  if (result.steady)
    out.answers["steady_state"] = Fields{{"found", result.steady->is_found},
                                         {"from_request", result.steady->from},
                                         {"mean_normalised_latency_s", result.steady->mean_s}};
  if (result.width.is_set()) out.answers["width_rule"] = fields_of(result.width, result.looks);
  out.resolved["prime_s"] = result.prime_s;
  return out;
}

}  // namespace reprise::experiments::serving
