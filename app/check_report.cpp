#include "app/check_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "results/statistics.h"
#include "results/table.h"

namespace reprise::app {
namespace {

using checks::BenchmarkResult;
using checks::Verdict;
using results::Table;

constexpr Verdict kWorstFirst[] = {Verdict::kSlower, Verdict::kUndecided, Verdict::kFaster,
                                   Verdict::kSame};

double percent_of(double log_ratio) { return 100 * std::expm1(log_ratio); }

std::string share_text(const std::vector<double>& shares) {
  return shares.empty() ? "-" : fmt::format("{:.2f}", results::summarize(shares).median);
}

// The name of the limit, "DRAM", "L2" or "bf16", without the unit, which a share does not need.
std::string limit_text(const BenchmarkResult& result) {
  if (!result.limit.has_value()) return "-";
  switch (*result.limit) {
    case Limit::kDramRead:
      return "DRAM";
    case Limit::kL3Read:
      return "L3";
    case Limit::kL2Read:
      return "L2";
    case Limit::kF32:
      return "f32";
    case Limit::kBf16:
      return "bf16";
    case Limit::kDeviceRead:
      return "GPU DRAM";
    case Limit::kDeviceHalf:
      return "GPU bf16";
  }
  return "-";
}

bool is_margin_widened(const BenchmarkResult& result) {
  return result.margins.same > result.margins.matters;
}

std::string verdict_text(const BenchmarkResult& result) {
  return std::string(checks::name_of(result.verdict)) +
         (result.verdict == Verdict::kSame && is_margin_widened(result) ? " *" : "");
}

int64_t count_of(const std::vector<BenchmarkResult>& results, Verdict verdict) {
  return std::count_if(results.begin(), results.end(),
                       [&](const BenchmarkResult& r) { return r.verdict == verdict; });
}

// Median share of the time that the candidate was on a processor; 1 if it has not run.
double cpu_share_of(const BenchmarkResult& result) {
  const std::vector<double>& shares = result.candidate.cpu_shares;
  return shares.empty() ? 1 : results::summarize(shares).median;
}

std::string reasons_for_undecided(const std::vector<BenchmarkResult>& results,
                                  const checks::CheckOptions& options) {
  int kept_off = 0, after_all_rounds = 0, others = 0;
  double least_share = 1;
  for (const BenchmarkResult& result : results) {
    if (result.verdict != Verdict::kUndecided) continue;
    if (const double share = cpu_share_of(result); share < checks::kLeastCpuShare) {
      ++kept_off;
      least_share = std::min(least_share, share);
    } else if (result.rounds >= checks::kMostRounds) {
      ++after_all_rounds;
    } else {
      ++others;
    }
  }
  std::string text;
  if (others > 0)
    text += fmt::format(
        "undecided: the interval neither lies within {:.3g} % nor beyond it; a quieter machine or "
        "a larger --budget decides\n",
        100 * options.margin);
  if (after_all_rounds > 0)
    text += fmt::format(
        "{} undecided after {} rounds, the most there are: a larger --budget changes nothing, a "
        "quieter machine or a larger --margin may\n",
        after_all_rounds, checks::kMostRounds);
  if (kept_off > 0)
    text += fmt::format(
        "{} undecided, since the candidate has a median CPU share of {:.2f}{}: below {:.2f}, "
        "\"same\" is not given with any --budget, because waiting and other programs hide "
        "differences\n",
        kept_off, least_share, kept_off > 1 ? " or more" : "", checks::kLeastCpuShare);
  return text;
}

bool is_against_file(const std::vector<BenchmarkResult>& results) {
  return !results.empty() && results.front().baseline.cpu_shares.empty() &&
         !results.front().baseline.times_s.empty();
}

std::string footnotes(const std::vector<BenchmarkResult>& results,
                      const checks::CheckOptions& options) {
  std::string text = fmt::format(
      "time ratio: candidate / baseline (Hodges-Lehmann), with intervals that hold all at once "
      "with "
      "{:.3g} % confidence{}\n",
      100 * (1 - options.false_alarm),
      is_against_file(results) ? " if samples are independent and sessions alike" : "");
  double widest = 0;
  for (const BenchmarkResult& result : results)
    if (result.verdict == Verdict::kSame && is_margin_widened(result))
      widest = std::max(widest, percent_of(result.margins.same));
  if (widest > 0)
    text += fmt::format(
        "* A/A runs were too noisy to show {:.3g} %: here \"same\" means within up to {:.1f} %\n",
        100 * options.margin, widest);
  return text + reasons_for_undecided(results, options);
}

Fields side_json(const checks::Side& side) {
  return {{"times_s", side.times_s},
          {"cpu_shares", side.cpu_shares},
          {"limit_shares", side.limit_shares}};
}

// Numbers that were not measured are null.
Fields ratio_json(const BenchmarkResult& result) {
  const bool has_interval = result.rounds > 0 && std::isfinite(result.shift.low);
  const auto ratio = [](bool is_known, double log_ratio) {
    return is_known ? Value(std::exp(log_ratio)) : Value();
  };
  return {{"value", ratio(result.rounds > 0, result.shift.estimate)},
          {"low", ratio(has_interval, result.shift.low)},
          {"high", ratio(has_interval, result.shift.high)},
          {"confidence_ratio", 1 - result.alpha}};
}

Fields result_json(const BenchmarkResult& result) {
  return {{"benchmark", result.id},
          {"verdict", checks::name_of(result.verdict)},
          {"time_ratio", ratio_json(result)},
          {"p_value", result.rounds > 0 ? Value(result.p_value) : Value()},
          {"margins", Fields{{"matters_ratio", std::expm1(result.margins.matters)},
                             {"noise_ratio", std::expm1(result.margins.noise)},
                             {"same_ratio", std::expm1(result.margins.same)}}},
          {"noise", Fields{{"spread_log", result.noise.spread},
                           {"resolvable_log", result.noise.resolvable},
                           {"same_differences_log", result.same_differences}}},
          {"rounds", result.rounds},
          {"most_rounds", result.most_rounds},
          {"process", Fields{{"repetitions", result.plan.repetitions},
                             {"min_time_s", result.plan.min_time_s}}},
          {"limit", result.limit.has_value() ? Value(name_of(*result.limit)) : Value()},
          {"baseline", side_json(result.baseline)},
          {"candidate", side_json(result.candidate)}};
}

}  // namespace

std::string ratio_text(const BenchmarkResult& result) {
  if (result.rounds == 0) return "-";
  const double ratio = std::exp(result.shift.estimate);
  if (!std::isfinite(result.shift.low)) return fmt::format("{:.3f} (too few rounds)", ratio);
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", ratio, std::exp(result.shift.low),
                     std::exp(result.shift.high));
}

std::string check_table(const std::vector<BenchmarkResult>& results,
                        const checks::CheckOptions& options) {
  Table table;
  table.column("benchmark");
  table.column("verdict");
  table.column("time ratio");
  for (const char* heading : {"A/A noise", "limit", "baseline", "candidate", "rounds"})
    table.column(heading, Table::Align::kRight);
  for (const Verdict verdict : kWorstFirst)
    for (const BenchmarkResult& result : results)
      if (result.verdict == verdict)
        table.row({result.id, verdict_text(result), ratio_text(result),
                   fmt::format("{:.1f} %", percent_of(result.noise.spread)), limit_text(result),
                   share_text(result.baseline.limit_shares),
                   share_text(result.candidate.limit_shares), std::to_string(result.rounds)});
  return table.text() + footnotes(results, options);
}

std::string check_summary(const std::vector<BenchmarkResult>& results) {
  std::string text;
  for (const Verdict verdict : kWorstFirst)
    if (const int64_t count = count_of(results, verdict); count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, checks::name_of(verdict));
  return fmt::format("{} of {} benchmarks", text, results.size());
}

Fields check_json(const checks::CheckOutcome& outcome, const checks::CheckOptions& options,
                  const Fields& context) {
  Values list;
  for (const BenchmarkResult& result : outcome.results) list.push_back(result_json(result));
  Fields json = context;
  json["settings"] = Fields{{"margin_ratio", options.margin},
                            {"budget_s", options.budget_s},
                            {"false_alarm_ratio", options.false_alarm},
                            {"calibration_rounds", options.calibration_rounds}};
  json["seeds"] = Fields{{"order", options.seed}};
  json["was_interrupted"] = outcome.was_interrupted;
  json["skipped"] = outcome.skipped;
  json["summary"] = check_summary(outcome.results);
  json["benchmarks"] = std::move(list);
  return json;
}

}  // namespace reprise::app
