#include "experiments/serving/validity.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "experiments/serving/queue_growth.h"

namespace reprise::experiments::serving {
namespace {

// True if the request was cancelled with the run, so that it says nothing about the server.
bool is_given_up(const RequestEntry& entry) { return entry.outcome == Outcome::kCancelled; }

struct Counts {
  int64_t ended = 0, errors = 0, late = 0, sent = 0, over_slo = 0;
  double latest_s = 0;
  std::map<std::string, int64_t> reasons;  // reasons of the errors
};

Counts count(const RequestLog& log, const ValidityRules& rules) {
  Counts counts;
  for (const RequestEntry& entry : log.requests) {
    if (entry.sent_s >= 0) {
      ++counts.sent;
      const double late_s = entry.sent_s - entry.intended_s;
      counts.latest_s = std::max(counts.latest_s, late_s);
      if (late_s > rules.most_late_s) ++counts.late;
    }
    if (is_given_up(entry)) continue;
    ++counts.ended;
    if (entry.outcome != Outcome::kServed) {
      ++counts.errors;
      ++counts.reasons[entry.reason];
    }
    if (!rules.slo.is_kept_by(entry)) ++counts.over_slo;
  }
  return counts;
}

bool is_above(int64_t part, int64_t whole, double share) {
  return static_cast<double>(part) > share * static_cast<double>(whole);
}

void judge_size(const Counts& counts, double lasted_s, const ValidityRules& rules,
                Verdict& verdict) {
  if (lasted_s < rules.least_duration_s)
    verdict.reasons.push_back(
        fmt::format("it lasted {:g} s, {:g} s are needed", lasted_s, rules.least_duration_s));
  if (counts.ended < rules.least_requests)
    verdict.reasons.push_back(
        fmt::format("{} requests ended, {} are needed", counts.ended, rules.least_requests));
}

void judge_load(const Counts& counts, const ValidityRules& rules, Verdict& verdict) {
  if (is_above(counts.late, counts.sent, rules.most_late_share))
    verdict.reasons.push_back(fmt::format(
        "{} of {} requests were sent more than {:g} s late (the latest {:g} s): the rate was not "
        "offered",
        counts.late, counts.sent, rules.most_late_s, counts.latest_s));
  if (!is_above(counts.errors, counts.ended, rules.most_error_share)) return;
  const auto often = std::max_element(counts.reasons.begin(), counts.reasons.end(),
                                      [](auto& a, auto& b) { return a.second < b.second; });
  verdict.reasons.push_back(fmt::format("{} of {} requests were not served, {} of them: {}",
                                        counts.errors, counts.ended, often->second, often->first));
}

// Counts the requests that had the server to themselves.
void count_alone(const RequestLog& log, const Slo& slo, Verdict& verdict) {
  std::vector<const RequestEntry*> sent;
  for (const RequestEntry& entry : log.requests) sent.push_back(&entry);
  std::stable_sort(sent.begin(), sent.end(), [](const RequestEntry* a, const RequestEntry* b) {
    return a->intended_s < b->intended_s;
  });
  double busy_until_s = 0;
  for (size_t i = 0; i < sent.size(); ++i) {
    const RequestEntry& entry = *sent[i];
    const bool is_alone = entry.intended_s >= busy_until_s &&
                          (i + 1 == sent.size() || sent[i + 1]->intended_s >= entry.done_s);
    busy_until_s = std::max(busy_until_s, entry.done_s);
    if (!is_alone || is_given_up(entry)) continue;
    ++verdict.alone;
    if (!slo.is_kept_by(entry)) ++verdict.alone_over_slo;
  }
}

void judge_slo(const Counts& counts, const ValidityRules& rules, Verdict& verdict) {
  if (!rules.slo.is_set()) return;
  const EarlyStopping rule = rules.early_stopping();
  verdict.over_slo = counts.over_slo;
  verdict.over_allowed = rule.overlatency_allowed(counts.ended);
  verdict.slo = decide(rule, counts.ended, counts.over_slo);
  verdict.is_too_small = verdict.over_allowed < 0 && verdict.slo == SloOutcome::kUndecided;
  if (verdict.is_too_small)
    verdict.reasons.push_back(
        fmt::format("{} requests ended, too few to bound p{:g}: {} are needed", counts.ended,
                    100 * rule.percentile, rule.least_requests(0)));
}

// Lists the rules that are weaker than the defaults. With such rules VALID means less than in other
// runs.
std::string lowered_limits(const ValidityRules& rules) {
  const ValidityRules defaults;
  std::vector<std::string> limits;
  if (rules.least_requests < defaults.least_requests)
    limits.push_back(
        fmt::format("{} requests instead of {}", rules.least_requests, defaults.least_requests));
  if (rules.least_duration_s < defaults.least_duration_s)
    limits.push_back(
        fmt::format("{:g} s instead of {:g}", rules.least_duration_s, defaults.least_duration_s));
  return limits.empty()
             ? ""
             : fmt::format("a run is VALID by lowered limits: {}", fmt::join(limits, " and "));
}

void state_reservations(const RequestLog& log, const ValidityRules& rules, Verdict& verdict) {
  if (const std::string limits = lowered_limits(rules); !limits.empty())
    verdict.reservations.push_back(limits);
  verdict.queue_grew = rules.is_open_loop && queue_grew(log);
  if (verdict.queue_grew) verdict.reservations.push_back(kQueueGrew);
}

}  // namespace

double duration_s(const RequestLog& log) {
  double last_s = 0;
  for (const RequestEntry& entry : log.requests) {
    last_s = std::max(last_s, entry.done_s);
    if (!entry.token_s.empty()) last_s = std::max(last_s, entry.token_s.back());
  }
  return last_s;
}

Verdict judge(const RequestLog& log, const ValidityRules& rules, const std::string& stop_reason) {
  Verdict verdict;
  if (!stop_reason.empty()) verdict.reasons.push_back(stop_reason);
  const Counts counts = count(log, rules);
  verdict.ended = counts.ended;
  verdict.is_short = stop_reason.empty() && counts.ended < rules.least_requests;
  judge_size(counts, duration_s(log), rules, verdict);
  judge_load(counts, rules, verdict);
  judge_slo(counts, rules, verdict);
  if (rules.slo.is_set()) count_alone(log, rules.slo, verdict);
  state_reservations(log, rules, verdict);
  return verdict;
}

Fields Verdict::fields() const {
  Fields fields = {
      {"verdict", is_valid() ? "VALID" : "INVALID"}, {"reasons", reasons}, {"slo", name_of(slo)}};
  if (!reservations.empty()) fields["reservations"] = reservations;
  if (slo == SloOutcome::kNone) return fields;
  fields["over_slo"] = over_slo;
  fields["over_slo_allowed"] = over_allowed;
  return fields;
}

}  // namespace reprise::experiments::serving
