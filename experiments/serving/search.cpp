#include "experiments/serving/search.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "experiments/serving/queue_growth.h"

namespace reprise::experiments::serving {
namespace {

void check(const SearchOptions& options) {
  const auto in_order = [](double low, double high) { return low <= high && std::isfinite(high); };
  if (!(options.least_rps > 0 && in_order(options.least_rps, options.first_rps) &&
        in_order(options.first_rps, options.most_rps)))
    raise(
        "search: rates of at least {}, first {} and at most {} requests/s; they must be finite, "
        "above 0 and in that order",
        options.least_rps, options.first_rps, options.most_rps);
  if (!(options.resolution > 0 && options.most_trials > 0))
    raise("search: resolution is {} and most_trials {}, both must be above 0", options.resolution,
          options.most_trials);
}

class Search {
 public:
  Search(const std::function<RateTrial(double, int64_t)>& trial, const SearchOptions& options)
      : trial_(trial), options_(options) {
    rule_ = decision_rule(options);
  }

  SearchResult run() {
    bracket();
    while (result_.highest_rps > 0 && std::isfinite(result_.above_rps) &&
           result_.above_rps > result_.highest_rps * (1 + options_.resolution))
      try_rate(std::sqrt(result_.highest_rps * result_.above_rps));
    return std::move(result_);
  }

 private:
  // Tries rates until one rate has passed and a higher rate has not, or until an end of the range
  // of rates is reached.
  void bracket() {
    double rate = options_.first_rps;
    if (try_rate(rate)) {
      while (rate < options_.most_rps) {
        rate = std::min(2 * rate, options_.most_rps);
        if (!try_rate(rate)) return;
      }
    } else {
      while (rate > options_.least_rps) {
        result_.is_out_of_reach = is_out_of_reach(result_.steps.back().total);
        result_.is_too_small = is_too_small(result_.steps.back());
        if (result_.is_out_of_reach || result_.is_too_small) return;
        rate = std::max(rate / 2, options_.least_rps);
        if (try_rate(rate)) return;
      }
    }
  }

  // True if the requests would miss the service level at any lower rate, too. At a lower rate more
  // requests have the server to themselves, but these are not served faster.
  [[nodiscard]] bool is_out_of_reach(const RateTrial& total) const {
    return total.invalid_reason.empty() && 2 * total.alone >= total.requests &&
           decide(rule_, total.alone, total.alone_over_slo) == SloOutcome::kMissed;
  }

  // True if the number of requests keeps the rate from passing, and lower rates, too. These have no
  // more requests, and serve a request that had the server to itself no faster.
  [[nodiscard]] static bool is_too_small(const SearchStep& step) {
    const RateTrial& total = step.total;
    const bool are_alone = 10 * total.alone >= 9 * total.requests;
    return total.is_short ||
           (total.invalid_reason.empty() && step.outcome == SloOutcome::kUndecided &&
            (total.over_slo == 0 || are_alone));
  }

  bool try_rate(double rate_rps) {
    SearchStep step{.rate_rps = rate_rps};
    while (step.outcome == SloOutcome::kUndecided && step.trials < options_.most_trials &&
           step.total.invalid_reason.empty())
      add_trial(step);
    const bool passes = step.outcome == SloOutcome::kMet && step.total.invalid_reason.empty();
    (passes ? result_.highest_rps : result_.above_rps) = rate_rps;
    result_.steps.push_back(std::move(step));
    return passes;
  }

  void add_trial(SearchStep& step) {
    const RateTrial one = trial_(step.rate_rps, step.trials);
    ++step.trials;
    step.total.requests += one.requests;
    step.total.over_slo += one.over_slo;
    step.total.alone += one.alone;
    step.total.alone_over_slo += one.alone_over_slo;
    step.total.invalid_reason = one.invalid_reason;
    step.total.is_short = one.is_short;
    step.outcome = decide(rule_, step.total.requests, step.total.over_slo);
  }

  const std::function<RateTrial(double, int64_t)>& trial_;
  const SearchOptions& options_;
  EarlyStopping rule_;
  SearchResult result_;
};

}  // namespace

namespace {

// True if the queue grew in a run of at least kEnough requests. In a shorter run a single burst can
// make it grow.
bool is_unstable(const Verdict& verdict) {
  constexpr int64_t kEnough = 60;
  return verdict.queue_grew && verdict.ended >= kEnough;
}

}  // namespace

RateTrial trial_of(const Verdict& verdict) {
  const size_t reasons = verdict.reasons.size() - (verdict.is_too_small ? 1 : 0);
  return {.requests = verdict.ended,
          .over_slo = verdict.over_slo,
          .alone = verdict.alone,
          .alone_over_slo = verdict.alone_over_slo,
          .invalid_reason = reasons > 0            ? verdict.reasons.front()
                            : is_unstable(verdict) ? kQueueGrew
                                                   : "",
          .is_short = verdict.is_short};
}

EarlyStopping decision_rule(const SearchOptions& options) {
  return {.percentile = options.percentile,
          .confidence = 1 - (1 - options.confidence) / static_cast<double>(options.most_trials)};
}

SearchResult search(const std::function<RateTrial(double rate_rps, int64_t trial)>& trial,
                    const SearchOptions& options) {
  check(options);
  return Search(trial, options).run();
}

}  // namespace reprise::experiments::serving
