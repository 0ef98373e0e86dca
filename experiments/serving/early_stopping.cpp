#include "experiments/serving/early_stopping.h"

#include "core/base/error.h"
#include "results/distributions.h"

namespace reprise::experiments::serving {
namespace {

// True if `over` of `requests` requests beyond the bound are few enough. By the rule in
// early_stopping.h the percentile then meets the bound.
bool is_enough(const EarlyStopping& rule, int64_t over, int64_t requests) {
  const double within = rule.percentile - rule.tolerance;
  REPRISE_CHECK(within > 0 && within < 1, "percentile {} less tolerance {}", rule.percentile,
                rule.tolerance);
  REPRISE_CHECK(rule.confidence > 0 && rule.confidence < 1, "confidence {}", rule.confidence);
  return results::binomial_cdf(over, requests, 1 - within) <= 1 - rule.confidence;
}

}  // namespace

int64_t EarlyStopping::overlatency_allowed(int64_t requests) const {
  int64_t most = -1, above = requests;  // if all requests exceed the bound, the rule never holds
  while (above - most > 1) {
    const int64_t middle = most + (above - most) / 2;
    (is_enough(*this, middle, requests) ? most : above) = middle;
  }
  return most;
}

int64_t EarlyStopping::least_requests(int64_t over) const {
  int64_t low = over, high = over + 1;  // `low` requests are too few
  while (!is_enough(*this, over, high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (is_enough(*this, over, middle) ? high : low) = middle;
  }
  return high;
}

std::string name_of(SloOutcome outcome) {
  switch (outcome) {
    case SloOutcome::kNone:
      return "none";
    case SloOutcome::kMet:
      return "met";
    case SloOutcome::kMissed:
      return "missed";
    case SloOutcome::kUndecided:
      return "undecided";
  }
  return "";
}

SloOutcome decide(const EarlyStopping& rule, int64_t requests, int64_t over) {
  REPRISE_CHECK(over >= 0 && over <= requests, "{} of {}", over, requests);
  if (is_enough(rule, over, requests)) return SloOutcome::kMet;
  const double at_least = 1 - results::binomial_cdf(over - 1, requests, 1 - rule.percentile);
  return at_least <= 1 - rule.confidence ? SloOutcome::kMissed : SloOutcome::kUndecided;
}

}  // namespace reprise::experiments::serving
