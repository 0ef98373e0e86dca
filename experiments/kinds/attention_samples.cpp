#include "experiments/kinds/attention_samples.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/kinds/costs.h"
#include "results/statistics.h"

namespace reprise::experiments {
namespace {

using results::metric_json;
using results::summarize;

void add_sampled(Measurement& out, const std::string& name, const std::vector<double>& values,
                 const char* unit) {
  if (values.empty()) return;
  out.samples[name] = values;
  out.metrics[name] = metric_json(summarize(values), unit);
}

// fn(turn) of every turn.
template <typename Fn>
std::vector<double> each(const AttentionSamples& samples, Fn&& fn) {
  std::vector<double> values;
  for (const AttentionTurn& turn : samples.turns) values.push_back(fn(turn));
  return values;
}

template <typename Fn>
void add_median(Measurement& out, const char* name, const AttentionSamples& samples,
                const char* unit, Fn&& fn) {
  out.metrics[name] = metric_json(summarize(each(samples, fn)), unit);
}

// The least time in which rates allow bytes and operations that overlap perfectly.
//   [RelayAttention §3.1, eq. 1]
double limit_us(double bytes, double flop, const MomentRates& rates) {
  return std::max(bytes / (rates.dram_read_gb_s * 1e3), flop / (rates.gflop_s * 1e3));
}

// Of the problem (whatever shared is read once) and of the operator's own plan, against the rates
// measured beside each turn and against those of the machine's record.
void add_limit_ratios(const AttentionProblem& problem, const AttentionSamples& samples,
                      const Json& machine, Measurement& out) {
  const auto problem_ratio = [&](const AttentionTurn& turn, const MomentRates& rates) {
    return limit_us(useful_kv_bytes(problem, turn.keys), attention_flop(problem, turn.keys),
                    rates) /
           turn.latency_us;
  };
  const auto plan_ratio = [&](const AttentionTurn& turn, const MomentRates& rates) {
    return limit_us(turn.kv_bytes_read, attention_flop(problem, turn.keys), rates) /
           turn.latency_us;
  };
  add_median(out, "problem_beside_ratio", samples, "ratio",
             [&](const AttentionTurn& turn) { return problem_ratio(turn, turn.beside); });
  add_median(out, "plan_beside_ratio", samples, "ratio",
             [&](const AttentionTurn& turn) { return plan_ratio(turn, turn.beside); });
  add_median(out, "beside_gb_s", samples, "GB/s",
             [](const AttentionTurn& turn) { return turn.beside.dram_read_gb_s; });
  add_median(out, "beside_gflop_s", samples, "GFLOP/s",
             [](const AttentionTurn& turn) { return turn.beside.gflop_s; });
  const MomentRates probed{.dram_read_gb_s = dram_limit(machine),
                           .gflop_s = gflop_limit(machine, problem.kv_dtype)};
  if (probed.dram_read_gb_s <= 0 || probed.gflop_s <= 0) return;
  add_median(out, "problem_limit_ratio", samples, "ratio",
             [&](const AttentionTurn& turn) { return problem_ratio(turn, probed); });
  add_median(out, "plan_limit_ratio", samples, "ratio",
             [&](const AttentionTurn& turn) { return plan_ratio(turn, probed); });
}

// Of the method with the shortest median time.
size_t best_of(std::span<const AttentionSamples> group) {
  std::vector<double> medians_us;
  for (const AttentionSamples& samples : group)
    medians_us.push_back(
        summarize(each(samples, [](const AttentionTurn& turn) { return turn.latency_us; })).median);
  return static_cast<size_t>(std::min_element(medians_us.begin(), medians_us.end()) -
                             medians_us.begin());
}

std::vector<double> time_ratios(const AttentionSamples& of, const AttentionSamples& over) {
  std::vector<double> ratios;
  for (size_t i = 0; i < of.turns.size(); ++i)
    ratios.push_back(of.turns[i].latency_us / over.turns[i].latency_us);
  return ratios;
}

void add_speedups(const AttentionProblem& problem, const AttentionSamples& samples,
                  const AttentionSamples& first, Measurement& out) {
  std::vector<double> speedups = time_ratios(first, samples);
  add_sampled(out, "speedup", speedups, "ratio");
  add_median(out, "io_bound_speedup", samples, "ratio",
             [&](const AttentionTurn& turn) { return io_bound_speedup(problem, turn.keys); });
  add_median(out, "relay_theory_speedup", samples, "ratio",
             [&](const AttentionTurn& turn) { return relay_theory_speedup(problem, turn.keys); });
  for (size_t i = 0; i < speedups.size(); ++i)
    speedups[i] /= io_bound_speedup(problem, samples.turns[i].keys);
  out.metrics["io_bound_ratio"] = metric_json(summarize(speedups), "ratio");
}

// b * n_c / t [ChunkAttention §4.1], with the median for the mean time of a step: the samples stand
// for equal shares of the n_c steps, whose times grow evenly, so the two differ by disturbances
// only.
double tokens_per_s(const AttentionProblem& problem, const std::vector<double>& latency_us) {
  return static_cast<double>(problem.batch) / (summarize(latency_us).median * 1e-6);
}

void add_linear(Measurement& out, const std::string& layer, const LinearCosts& costs,
                const std::vector<double>& times_us) {
  add_sampled(out, layer + "_us", times_us, "us");
  out.metrics[layer + "_mflop"] = metric_json(costs.flop * 1e-6, "MFLOP");
  out.metrics[layer + "_mb"] = metric_json(costs.bytes * 1e-6, "MB");
  out.metrics[layer + "_intensity"] = metric_json(costs.flop / costs.bytes, "FLOP/byte");
}

}  // namespace

void add_attention_metrics(const AttentionProblem& problem, std::span<const AttentionSamples> group,
                           size_t m, const Json& machine, Measurement& out) {
  const AttentionSamples& samples = group[m];
  const std::vector<double> latency_us =
      each(samples, [](const AttentionTurn& turn) { return turn.latency_us; });
  add_sampled(out, "latency_us", latency_us, "us");
  add_sampled(out, "append_us",
              each(samples, [](const AttentionTurn& turn) { return turn.append_us; }), "us");
  for (const auto& [name, times_us] : samples.parts_us) add_sampled(out, name, times_us, "us");
  out.metrics["tokens_per_s"] = metric_json(tokens_per_s(problem, latency_us), "tokens/s");
  add_median(out, "useful_mb", samples, "MB",
             [&](const AttentionTurn& turn) { return useful_kv_bytes(problem, turn.keys) * 1e-6; });
  add_median(out, "read_mb", samples, "MB",
             [](const AttentionTurn& turn) { return turn.kv_bytes_read * 1e-6; });
  add_median(out, "mflop", samples, "MFLOP",
             [&](const AttentionTurn& turn) { return attention_flop(problem, turn.keys) * 1e-6; });
  add_median(out, "intensity", samples, "FLOP/byte", [&](const AttentionTurn& turn) {
    return attention_flop(problem, turn.keys) / turn.kv_bytes_read;
  });
  add_median(out, "read_gb_s", samples, "GB/s", [](const AttentionTurn& turn) {
    return turn.kv_bytes_read / (turn.latency_us * 1e3);
  });
  add_median(out, "gflop_s", samples, "GFLOP/s", [&](const AttentionTurn& turn) {
    return attention_flop(problem, turn.keys) / (turn.latency_us * 1e3);
  });
  add_speedups(problem, samples, group[0], out);
  out.metrics["best_ratio"] =
      metric_json(summarize(time_ratios(group[best_of(group)], samples)), "ratio");
  add_limit_ratios(problem, samples, machine, out);
}

void add_layer_metrics(const AttentionProblem& problem, DType dtype, const LayerSamples& samples,
                       Measurement& out) {
  if (samples.width.hidden == 0) return;
  add_linear(out, "qkv", qkv_costs(problem, samples.width, dtype), samples.qkv_us);
  add_linear(out, "mlp", mlp_costs(problem, samples.width, dtype), samples.mlp_us);
}

}  // namespace reprise::experiments
