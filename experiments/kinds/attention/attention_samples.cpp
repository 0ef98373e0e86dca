#include "experiments/kinds/attention/attention_samples.h"

#include <algorithm>

#include "core/base/error.h"
#include "experiments/kinds/attention/attention_metrics.h"
#include "experiments/kinds/shared/costs.h"
#include "results/statistics.h"

namespace reprise::experiments {
namespace {

using results::summarize;

// Returns fn(turn) for every turn.
template <typename Fn>
std::vector<double> each(const AttentionSamples& samples, Fn&& fn) {
  std::vector<double> values;
  for (const AttentionTurn& turn : samples.turns) values.push_back(fn(turn));
  return values;
}

template <typename Fn>
void add_median(Measurement& out, const MetricInfo& metric, const AttentionSamples& samples,
                Fn&& fn) {
  out.summarize(metric, each(samples, fn));
}

// Adds the median of fn(turn), a value that is computed from the turn's times.
template <typename Fn>
void add_timed_median(Measurement& out, const MetricInfo& metric, const AttentionSamples& samples,
                      Fn&& fn) {
  out.summarize_timed(metric, each(samples, fn));
}

// The metric of an operator's part.
MetricInfo metric_of_part(const std::string& name) {
  for (const MetricInfo& metric : {kSharedUs, kPrivateUs, kMergeUs})
    if (metric.name == name) return metric;
  REPRISE_CHECK(false, "no metric is called {}", name);
  return {};
}

// The least time in microseconds for `bytes` of reads and `flop` operations at these rates, if
// reads and arithmetic overlap perfectly.
//   [RelayAttention §3.1, eq. 1]
double limit_us(double bytes, double flop, const MomentRates& rates) {
  return std::max(bytes / (rates.dram_read_gb_s * 1e3), flop / (rates.gflop_s * 1e3));
}

// Adds ratios of the least time to the measured time: one for the problem's least time, which reads
// shared keys once, and one for the least time of the operator's own plan. Each is computed with
// the rates measured in each turn, and with the rates in the machine's record.
void add_limit_ratios(const AttentionProblem& problem, const AttentionSamples& samples,
                      const Machine& machine, Measurement& out) {
  const auto problem_ratio = [&](const AttentionTurn& turn, const MomentRates& rates) {
    return limit_us(useful_kv_bytes(problem, turn.keys), attention_flop(problem, turn.keys),
                    rates) /
           turn.latency_us;
  };
  const auto plan_ratio = [&](const AttentionTurn& turn, const MomentRates& rates) {
    return limit_us(turn.kv_bytes_read, attention_flop(problem, turn.keys), rates) /
           turn.latency_us;
  };
  add_timed_median(out, kProblemBesideRatio, samples,
                   [&](const AttentionTurn& turn) { return problem_ratio(turn, turn.beside); });
  add_timed_median(out, kPlanBesideRatio, samples,
                   [&](const AttentionTurn& turn) { return plan_ratio(turn, turn.beside); });
  add_median(out, kBesideGbS, samples,
             [](const AttentionTurn& turn) { return turn.beside.dram_read_gb_s; });
  add_median(out, kBesideGflopS, samples,
             [](const AttentionTurn& turn) { return turn.beside.gflop_s; });
  const MomentRates probed{.dram_read_gb_s = dram_limit(machine),
                           .gflop_s = gflop_limit(machine, problem.kv_dtype)};
  if (probed.dram_read_gb_s <= 0 || probed.gflop_s <= 0) return;
  add_timed_median(out, kProblemLimitRatio, samples,
                   [&](const AttentionTurn& turn) { return problem_ratio(turn, probed); });
  add_timed_median(out, kPlanLimitRatio, samples,
                   [&](const AttentionTurn& turn) { return plan_ratio(turn, probed); });
}

void add_streams(const std::vector<StreamTurn>& streams, Measurement& out) {
  if (streams.empty()) return;
  std::vector<double> rates, ratios;
  for (const StreamTurn& turn : streams) {
    rates.push_back(turn.kv_bytes_read / (turn.stream_us * 1e3));
    if (turn.latency_us > 0) ratios.push_back(turn.stream_us / turn.latency_us);
  }
  if (!ratios.empty()) out.summarize(kStreamRatio, ratios);
  out.summarize(kStreamGbS, rates);
}

// Index of the method with the shortest median time.
size_t best_of(std::span<const AttentionSamples> group) {
  std::vector<double> medians_us;
  for (const AttentionSamples& samples : group)
    medians_us.push_back(
        summarize(each(samples, [](const AttentionTurn& turn) { return turn.latency_us; })).median);
  return static_cast<size_t>(std::min_element(medians_us.begin(), medians_us.end()) -
                             medians_us.begin());
}

double attention_us(const AttentionTurn& turn) { return turn.latency_us; }
double step_us(const AttentionTurn& turn) { return turn.append_us + turn.latency_us; }

// The times of `of` divided by the times of `over`, turn by turn.
std::vector<double> time_ratios(const AttentionSamples& of, const AttentionSamples& over,
                                double (*time_us)(const AttentionTurn&) = attention_us) {
  std::vector<double> ratios;
  for (size_t i = 0; i < of.turns.size(); ++i)
    ratios.push_back(time_us(of.turns[i]) / time_us(over.turns[i]));
  return ratios;
}

void add_speedups(const AttentionProblem& problem, const AttentionSamples& samples,
                  const AttentionSamples& first, Measurement& out) {
  std::vector<double> speedups = time_ratios(first, samples);
  out.sample(kSpeedup, speedups);
  out.summarize(kStepSpeedup, time_ratios(first, samples, step_us));
  add_median(out, kIoBoundSpeedup, samples,
             [&](const AttentionTurn& turn) { return io_bound_speedup(problem, turn.keys); });
  add_median(out, kRelayTheorySpeedup, samples,
             [&](const AttentionTurn& turn) { return relay_theory_speedup(problem, turn.keys); });
  for (size_t i = 0; i < speedups.size(); ++i)
    speedups[i] /= io_bound_speedup(problem, samples.turns[i].keys);
  out.summarize(kIoBoundRatio, speedups);
  for (const MetricInfo& metric : {kSpeedup, kStepSpeedup, kIoBoundRatio})
    samples.taking.mark_comparison(first.taking, metric, out);
}

// Marks the metrics that depend on the length of sequences. Sequences grow from step to step, so
// the quartiles of these metrics do not show noise of the machine.
void mark_spread_of_places(Measurement& out) {
  for (const MetricInfo& metric :
       {kLatencyUs, kStepUs, kTokensPerS, kUsefulMb, kReadMb, kMflop, kIntensity, kReadGbS, kGflopS,
        kSpeedup, kStepSpeedup, kIoBoundSpeedup, kIoBoundRatio, kRelayTheorySpeedup, kBestRatio,
        kProblemBesideRatio, kPlanBesideRatio, kProblemLimitRatio, kPlanLimitRatio})
    if (const auto found = out.metrics.find(metric.name); found != out.metrics.end())
      found->second.is_population = true;
}

void add_linear(Measurement& out, const LinearMetrics& metrics, const LinearCosts& costs,
                const std::vector<double>& times_us) {
  out.sample(metrics.time_us, times_us);
  out.set(metrics.mflop, costs.flop * 1e-6);
  out.set(metrics.mb, costs.bytes * 1e-6);
  out.set(metrics.intensity, costs.flop / costs.bytes);
}

}  // namespace

void add_attention_metrics(const AttentionProblem& problem, std::span<const AttentionSamples> group,
                           size_t m, const Machine& machine, Measurement& out) {
  const AttentionSamples& samples = group[m];
  // The parts were timed after all turns, so the turns' mark is not theirs: they come before it.
  for (const auto& [name, times_us] : samples.parts_us) out.sample(metric_of_part(name), times_us);
  samples.taking.add_to(out);
  const std::vector<double> latency_us =
      each(samples, [](const AttentionTurn& turn) { return turn.latency_us; });
  out.sample(kLatencyUs, latency_us);
  out.sample(kAppendUs, each(samples, [](const AttentionTurn& turn) { return turn.append_us; }));
  out.summarize_timed(kStepUs, each(samples, step_us));
  // b * n_c / t [ChunkAttention §4.1], with n_c times the median time of a step as t. The median
  // stands for the mean: samples are evenly spread over the n_c steps, whose times grow evenly, so
  // without disturbances both are equal.
  out.derive(kTokensPerS, kLatencyUs,
             [&](double step_us) { return static_cast<double>(problem.batch) / (step_us * 1e-6); });
  add_median(out, kUsefulMb, samples,
             [&](const AttentionTurn& turn) { return useful_kv_bytes(problem, turn.keys) * 1e-6; });
  add_median(out, kReadMb, samples,
             [](const AttentionTurn& turn) { return turn.kv_bytes_read * 1e-6; });
  add_median(out, kMflop, samples,
             [&](const AttentionTurn& turn) { return attention_flop(problem, turn.keys) * 1e-6; });
  add_median(out, kIntensity, samples, [&](const AttentionTurn& turn) {
    return attention_flop(problem, turn.keys) / turn.kv_bytes_read;
  });
  add_timed_median(out, kReadGbS, samples, [](const AttentionTurn& turn) {
    return turn.kv_bytes_read / (turn.latency_us * 1e3);
  });
  add_timed_median(out, kGflopS, samples, [&](const AttentionTurn& turn) {
    return attention_flop(problem, turn.keys) / (turn.latency_us * 1e3);
  });
  add_speedups(problem, samples, group[0], out);
  const AttentionSamples& best = group[best_of(group)];
  out.summarize(kBestRatio, time_ratios(best, samples));
  samples.taking.mark_comparison(best.taking, kBestRatio, out);
  add_limit_ratios(problem, samples, machine, out);
  add_streams(samples.streams, out);
  if (problem.completion_tokens > 1) mark_spread_of_places(out);
}

void add_layer_metrics(const AttentionProblem& problem, DType dtype, const LayerSamples& samples,
                       Measurement& out) {
  if (samples.width.hidden == 0) return;
  add_linear(out, kQkvMetrics, qkv_costs(problem, samples.width, dtype), samples.qkv_us);
  add_linear(out, kMlpMetrics, mlp_costs(problem, samples.width, dtype), samples.mlp_us);
}

}  // namespace reprise::experiments
