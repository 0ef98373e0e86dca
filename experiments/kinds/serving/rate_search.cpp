#include "experiments/kinds/serving/rate_search.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/error.h"
#include "experiments/kinds/serving/serving_axes.h"
#include "experiments/serving/metrics.h"
#include "experiments/serving/queue_growth.h"
#include "experiments/serving/search.h"

namespace reprise::experiments {
namespace {

const MetricInfo kHighestRps = {"highest_rps", "1/s",
                                "the highest rate tried that meets the service level; 0: none did"};
const MetricInfo kAboveRps = {"above_rps", "1/s", "the lowest rate tried that does not"};
const MetricInfo kSearchRuns = {"search_runs", "runs", "that the search took"};

Fields fields_of(const serving::SearchStep& step) {
  Fields fields = {{"rate_rps", step.rate_rps},
                   {"outcome", serving::name_of(step.outcome)},
                   {"requests", step.total.requests},
                   {"over_slo", step.total.over_slo},
                   {"trials", step.trials}};
  if (!step.total.invalid_reason.empty()) fields["invalid"] = step.total.invalid_reason;
  return fields;
}

// A growing queue ends a search as a missed service level does, but an INVALID run may have another
// cause than the server: too few requests for its duration, or a client that sent them late.
std::vector<std::string> reservations_of(const serving::SearchResult& found,
                                         const serving::SearchOptions& options) {
  std::vector<std::string> reservations;
  for (const serving::SearchStep& step : found.steps) {
    const std::string& reason = step.total.invalid_reason;
    if (found.highest_rps > 0 && step.rate_rps == found.above_rps && !reason.empty() &&
        reason != serving::kQueueGrew)
      reservations.push_back(fmt::format(
          "the search was ended by an INVALID run: at {:g} requests/s: {}", step.rate_rps, reason));
  }
  if (found.is_out_of_reach) {
    const serving::RateTrial& last = found.steps.back().total;
    reservations.push_back(fmt::format(
        "no lower rate was tried: {} of the {} requests that had the server to themselves missed "
        "the service level",
        last.alone_over_slo, last.alone));
  }
  if (found.is_too_small) {
    const serving::SearchStep& last = found.steps.back();
    const serving::RateTrial& total = last.total;
    const serving::EarlyStopping rule = decision_rule(options);
    reservations.push_back(
        total.is_short
            ? fmt::format(
                  "no lower rate was tried: a run has {} requests, fewer than least_requests",
                  total.requests)
            : fmt::format("no lower rate was tried: {} of the {} requests of {} missed the service "
                          "level, too few requests to decide ({} are needed if none misses it, {} "
                          "if one does)",
                          total.over_slo, total.requests,
                          last.trials == 1 ? "one run" : fmt::format("{} runs", last.trials),
                          rule.least_requests(0), rule.least_requests(1)));
  }
  return reservations;
}

void add_search(const serving::SearchResult& found, const serving::SearchOptions& options,
                Measurement& out) {
  Values steps;
  int64_t runs = 0;
  for (const serving::SearchStep& step : found.steps) {
    steps.emplace_back(fields_of(step));
    runs += step.trials;
  }
  out.answers["search"] = std::move(steps);
  out.set(kHighestRps, found.highest_rps);
  if (std::isfinite(found.above_rps)) out.set(kAboveRps, found.above_rps);
  out.set(kSearchRuns, static_cast<double>(runs));
  serving::add_to_verdict({.reservations = reservations_of(found, options)}, out);
}

serving::SearchOptions options_of(const ServingAxes& axes) {
  return {.first_rps = axes.arrivals.rate_rps,
          .resolution = axes.search.search_resolution,
          .most_trials = axes.search.search_trials,
          .percentile = axes.rules.slo_share};
}

// The requests that a run needs at least: for its rules, and for all trials together to decide that
// a rate passes if one of the requests is late.
int64_t least_requests_of(const ServingAxes& axes, double rate_rps) {
  constexpr double kSpare = 1.2;  // drawn arrivals may take less time than on average
  const int64_t trials = axes.search.search_trials;
  const int64_t decides = serving::decision_rule(options_of(axes)).least_requests(1);
  const double for_duration = std::ceil(kSpare * rate_rps * axes.rules.least_duration_s);
  return std::max({static_cast<int64_t>(for_duration), axes.rules.least_requests,
                   (decides + trials - 1) / trials});
}

RateTrialGroup trial_at(const Group& group, double rate_rps, int64_t number) {
  RateTrialGroup trial{.group = group, .axes = group.axes_as<ServingAxes>()};
  trial.axes.arrivals.rate_rps = rate_rps;
  trial.group.seeds.arrivals += static_cast<uint64_t>(number);
  const int64_t needed = least_requests_of(trial.axes, rate_rps);
  int64_t& requests = trial.axes.source.options.requests;
  if (requests == 0 || requests >= needed) return trial;
  requests = needed;
  trial.is_longer = true;
  return trial;
}

}  // namespace

std::vector<MetricInfo> rate_search_metrics() { return {kHighestRps, kAboveRps, kSearchRuns}; }

bool searches_rate(const SearchAxes& axes) { return axes.search == kHighestRate; }

void check_rate_search(const ServingAxes& axes) {
  if (!searches_rate(axes.search)) return;
  const serving::Slo slo = slo_of(axes.rules);
  const double none = serving::Slo::kNone;
  if (slo.ttft_s == none && slo.tpot_s == none && slo.e2e_s == none && slo.normalised_s == none)
    raise(
        "search is \"{}\" without a service level: give slo_ttft_ms, slo_tpot_ms, slo_e2e_ms or "
        "slo_normalised_ms",
        kHighestRate);
  const std::string& arrivals = axes.arrivals.arrivals;
  for (const char* unsteady : {"closed", "sessions", "ramp", "burst"})
    if (arrivals == unsteady)
      raise("search is \"{}\" and arrivals are \"{}\", which have no one rate: take \"poisson\"",
            kHighestRate, arrivals);
  for (const char* fixed : {"trace", "constant"})
    if (arrivals == fixed && axes.search.search_trials > 1)
      raise("search_trials is {} and arrivals are \"{}\", the same in each trial: give 1",
            axes.search.search_trials, arrivals);
  if (const double least = serving::SearchOptions().least_rps; axes.arrivals.rate_rps < least)
    raise("search begins at rate_rps, which is {}: give at least {}", axes.arrivals.rate_rps,
          least);
}

Measurement search_rate(const Group& group,
                        const std::function<serving::TrialRun(const RateTrialGroup&)>& run,
                        const std::atomic<bool>& stop) {
  const auto axes = group.axes_as<ServingAxes>();
  std::map<double, Measurement> runs;  // last run at each rate
  const auto trial = [&](double rate_rps, int64_t number) {
    if (stop) throw Interrupted{};
    serving::TrialRun made = run(trial_at(group, rate_rps, number));
    runs[rate_rps] = std::move(made.measured);
    return serving::trial_of(made.verdict);
  };
  const serving::SearchOptions options = options_of(axes);
  const serving::SearchResult found = serving::search(trial, options);
  Measurement out =
      found.highest_rps > 0 ? runs.at(found.highest_rps) : std::move(runs.begin()->second);
  if (out.metrics.empty())
    raise("the search found no rate to run at: {}", found.steps.back().total.invalid_reason);
  // The highest rate passed by the counts of all its trials together. The last trial alone may have
  // too few requests for a verdict, so the verdict of the rate replaces it. All other values in the
  // record are those of the last trial.
  if (found.highest_rps > 0) {
    for (auto& [name, value] : serving::Verdict{.slo = serving::SloOutcome::kMet}.fields())
      if (name == "verdict" || name == "reasons" || name == "slo") out.answers[name] = value;
    out.set(serving::kIsValid, 1);
  }
  add_search(found, options, out);
  return out;
}

}  // namespace reprise::experiments
