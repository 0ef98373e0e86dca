#include "checks/check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/base/child_process.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "results/statistics.h"

namespace reprise::checks {
namespace {

struct Trial {
  std::unique_ptr<Comparison> comparison;
  std::vector<Look> looks;
  size_t next_look = 0;
  bool is_skipped = false;
  BenchmarkResult result;

  [[nodiscard]] bool is_open() const { return !is_skipped && next_look < looks.size(); }
};

std::unique_ptr<Comparison> comparison_of(const Subject& subject, const Bench& bench,
                                          uint64_t seed) {
  if (const auto* program = std::get_if<Benchmark>(&subject.baseline))
    return compare_programs(bench, *program, subject.candidate, seed);
  return compare_with_baseline(bench, std::get<BaselineEntry>(subject.baseline), subject.candidate);
}

std::vector<size_t> shuffled(size_t count, uint64_t seed, uint64_t round) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = count; i > 1; --i)
    std::swap(order[i - 1], order[random_bits(seed, round, i) % i]);
  return order;
}

bool is_kept_off(const Comparison& comparison) {
  return results::summarize(comparison.candidate().cpu_shares).median < kLeastCpuShare;
}

class Check {
 public:
  Check(const std::vector<Subject>& subjects, const CheckOptions& options, const Bench& bench,
        CheckObserver& observer)
      : options_(options), observer_(observer) {
    for (size_t i = 0; i < subjects.size(); ++i) {
      observer_.planning(static_cast<int>(i), static_cast<int>(subjects.size()));
      try {
        Trial trial{.comparison = comparison_of(subjects[i], bench, mix_bits(options.seed ^ i))};
        trial.result.id = subjects[i].id;
        trials_.push_back(std::move(trial));
      } catch (const Skipped& skipped) {
        leave_out(subjects[i].id, skipped);
      }
    }
  }

  void calibrate() {
    for (int round = 0; round < options_.calibration_rounds; ++round) {
      observer_.calibrating(round, options_.calibration_rounds);
      for (const size_t i : shuffled(trials_.size(), options_.seed, next_order_++))
        if (wants_calibration(trials_[i]))
          run_or_skip(trials_[i], [](Trial& trial) {
            trial.result.same_differences.push_back(trial.comparison->run_same());
          });
    }
    for (Trial& trial : trials_)
      if (!trial.is_skipped) design(trial);
  }

  void measure() {
    while (decided() < static_cast<int>(trials_.size())) {
      observer_.measuring(decided(), static_cast<int>(trials_.size()), left_s());
      for (const size_t i : shuffled(trials_.size(), options_.seed, next_order_++))
        if (trials_[i].is_open()) run_or_skip(trials_[i], [&](Trial& trial) { run_round(trial); });
    }
  }

  std::vector<BenchmarkResult> results() {
    std::vector<BenchmarkResult> results;
    for (Trial& trial : trials_) {
      if (trial.is_skipped) continue;
      BenchmarkResult& result = trial.result;
      result.rounds = trial.comparison->rounds();
      result.plan = trial.comparison->plan();
      result.limit = trial.comparison->limit();
      result.baseline = trial.comparison->baseline();
      result.candidate = trial.comparison->candidate();
      if (result.rounds > 0) {
        result.shift = trial.comparison->shift(result.alpha);
        result.p_value = trial.comparison->p_value();
      }
      results.push_back(result);
    }
    return results;
  }

  [[nodiscard]] const std::vector<std::string>& skipped() const { return skipped_; }

 private:
  // The allowed error is divided evenly among the benchmarks [Bonferroni]. So all confidence
  // intervals hold at once, and each verdict can be read off its interval. Holm's method gives no
  // intervals and would detect little more: the width of an interval grows only with the logarithm
  // of the number of benchmarks among which the error is divided.
  void design(Trial& trial) {
    const double alpha = options_.false_alarm / static_cast<double>(trials_.size());
    const double affordable = options_.budget_s / std::max(1e-3, trial.comparison->round_s());
    trial.looks = looks(static_cast<int>(std::min<double>(kMostRounds, affordable)), alpha);
    const Look& last = trial.looks.back();
    trial.result.most_rounds = last.rounds;
    trial.result.alpha = last.alpha;
    trial.result.noise = noise_of(trial.result.same_differences, last);
    trial.result.margins = margins_of(std::log1p(options_.margin), trial.result.noise);
    trial.comparison->begin_rounds();
  }

  [[nodiscard]] bool wants_calibration(const Trial& trial) const {
    constexpr size_t kLeast = 5;
    const size_t pairs = trial.result.same_differences.size();
    return !trial.is_skipped &&
           (pairs < kLeast ||
            trial.comparison->round_s() * static_cast<double>(pairs) < options_.budget_s / 2);
  }

  void leave_out(const std::string& id, const Skipped& skipped) {
    skipped_.push_back(id);
    observer_.left_out(skipped);
  }

  // A benchmark may skip itself after its trial runs: now and then, or only the candidate's does.
  template <typename Step>
  void run_or_skip(Trial& trial, Step step) {
    try {
      step(trial);
    } catch (const Skipped& skipped) {
      leave_out(trial.result.id, skipped);
      trial.is_skipped = true;
    }
  }

  void run_round(Trial& trial) {
    trial.comparison->run_round();
    if (trial.comparison->rounds() < trial.looks[trial.next_look].rounds) return;
    const Look& look = trial.looks[trial.next_look++];
    trial.result.alpha = look.alpha;
    trial.result.shift = trial.comparison->shift(look.alpha);
    trial.result.verdict = judge(trial.result.shift, trial.result.margins);
    if (trial.result.verdict == Verdict::kSame && is_kept_off(*trial.comparison))
      trial.result.verdict = Verdict::kUndecided;
    if (trial.result.verdict != Verdict::kUndecided) trial.next_look = trial.looks.size();
    trial.result.rounds = look.rounds;
    if (!trial.is_open()) observer_.decided(trial.result);
  }

  [[nodiscard]] int decided() const {
    return static_cast<int>(
        std::count_if(trials_.begin(), trials_.end(), [](const Trial& t) { return !t.is_open(); }));
  }
  [[nodiscard]] double left_s() const {
    double left_s = 0;
    for (const Trial& trial : trials_)
      if (trial.is_open())
        left_s +=
            trial.comparison->round_s() * (trial.looks.back().rounds - trial.comparison->rounds());
    return left_s;
  }

  CheckOptions options_;
  CheckObserver& observer_;
  std::vector<Trial> trials_;
  std::vector<std::string> skipped_;
  uint64_t next_order_ = 0;
};

using Counterparts = std::map<std::string, std::variant<Benchmark, BaselineEntry>>;

Pairing pair_up(const std::vector<Benchmark>& candidates, const Counterparts& counterparts,
                const std::string& filter) {
  Pairing pairing;
  std::set<std::string> ids;
  for (const Benchmark& candidate : candidates) {
    const std::string id = candidate.id();
    ids.insert(id);
    if (const auto found = counterparts.find(id); found != counterparts.end())
      pairing.subjects.push_back({id, candidate, found->second});
    else
      pairing.only_candidate.push_back(id);
  }
  for (const auto& [id, counterpart] : counterparts)
    if (!ids.contains(id)) pairing.only_baseline.push_back(id);
  pairing.only_baseline = matching(std::move(pairing.only_baseline), filter);
  return pairing;
}

[[noreturn]] void raise_nothing_in_common(const std::string& baseline, const Benchmark& candidate,
                                          const std::string& other, const std::string& filter) {
  if (!filter.empty())
    raise("--filter {} matches {} of the candidate, but the {} has no such benchmark; it has {}",
          filter.substr(0, 200), candidate.id(), baseline, other);
  raise(
      "candidate and {} have no benchmark in common: one has {}, the other {}. Give a baseline of "
      "the same programs; where benchmarks were renamed, one that was recorded since.",
      baseline, candidate.id(), other);
}

}  // namespace

Pairing match(const std::vector<Benchmark>& candidates, const std::vector<Benchmark>& baselines,
              bool by_name, const std::string& filter) {
  Counterparts counterparts;
  for (const Benchmark& baseline : baselines)
    counterparts.emplace(
        by_name ? Benchmark{candidates.front().program, baseline.name}.id() : baseline.id(),
        baseline);
  Pairing pairing = pair_up(candidates, counterparts, filter);
  if (pairing.subjects.empty())
    raise_nothing_in_common("baseline", candidates.front(), baselines.front().id(), filter);
  return pairing;
}

Pairing match(const std::vector<Benchmark>& candidates, const Baseline& baseline,
              const std::string& file, const std::string& filter) {
  Counterparts counterparts;
  for (const BaselineEntry& entry : baseline.entries) counterparts.emplace(entry.id(), entry);
  Pairing pairing = pair_up(candidates, counterparts, filter);
  if (pairing.subjects.empty())
    raise_nothing_in_common("baseline " + file, candidates.front(), counterparts.begin()->first,
                            filter);
  return pairing;
}

CheckOutcome run_check(const std::vector<Subject>& subjects, const CheckOptions& options,
                       const Bench& bench, CheckObserver& observer) {
  Check check(subjects, options, bench, observer);
  check.calibrate();
  CheckOutcome outcome;
  try {
    check.measure();
  } catch (const Interrupted&) {
    outcome.was_interrupted = true;
  }
  outcome.results = check.results();
  outcome.skipped = check.skipped();
  if (outcome.results.empty() && !outcome.was_interrupted)
    raise("nothing was compared: every benchmark skips itself, such as {}",
          outcome.skipped.front());
  return outcome;
}

}  // namespace reprise::checks
