#include "checks/check.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/child_process.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "results/statistics.h"

namespace reprise::checks {
namespace {

constexpr int kMostRounds = 150;  // with more rounds, the exact tests take longer than the rounds

struct Trial {
  std::unique_ptr<Comparison> comparison;
  std::vector<Look> looks;
  size_t next_look = 0;
  BenchmarkResult result;

  [[nodiscard]] bool is_open() const { return next_look < looks.size(); }
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
      Trial trial{.comparison = comparison_of(subjects[i], bench, mix_bits(options.seed ^ i))};
      trial.result.id = subjects[i].id;
      trials_.push_back(std::move(trial));
    }
  }

  void calibrate() {
    for (int round = 0; round < options_.calibration_rounds; ++round) {
      observer_.calibrating(round, options_.calibration_rounds);
      for (const size_t i : shuffled(trials_.size(), options_.seed, next_order_++))
        if (wants_calibration(trials_[i]))
          trials_[i].result.same_differences.push_back(trials_[i].comparison->run_same());
    }
    for (Trial& trial : trials_) design(trial);
  }

  void measure() {
    while (decided() < static_cast<int>(trials_.size())) {
      observer_.measuring(decided(), static_cast<int>(trials_.size()), left_s());
      for (const size_t i : shuffled(trials_.size(), options_.seed, next_order_++))
        if (trials_[i].is_open()) run_round(trials_[i]);
    }
  }

  std::vector<BenchmarkResult> results() {
    std::vector<BenchmarkResult> results;
    for (Trial& trial : trials_) {
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

 private:
  // The allowed error is divided evenly among the benchmarks [Bonferroni], so that all intervals
  // hold at once and can give the verdicts. Holm's method gives no intervals. Its tests would have
  // little more power, since quantiles grow only with the logarithm of the number of benchmarks.
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
    return pairs < kLeast ||
           trial.comparison->round_s() * static_cast<double>(pairs) < options_.budget_s / 2;
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
  uint64_t next_order_ = 0;
};

}  // namespace

std::vector<Subject> match(const std::vector<Benchmark>& candidates,
                           const std::vector<Benchmark>& baselines) {
  const auto is_one_program = [](const std::vector<Benchmark>& benchmarks) {
    return std::all_of(benchmarks.begin(), benchmarks.end(),
                       [&](const Benchmark& b) { return b.program == benchmarks.front().program; });
  };
  const bool by_name = is_one_program(candidates) && is_one_program(baselines);
  std::vector<Subject> subjects;
  for (const Benchmark& candidate : candidates)
    for (const Benchmark& baseline : baselines)
      if (by_name ? candidate.name == baseline.name : candidate.id() == baseline.id())
        subjects.push_back({candidate.id(), candidate, baseline});
  if (subjects.empty())
    raise("candidate and baseline have no benchmark in common: one has {}, the other {}",
          candidates.front().id(), baselines.front().id());
  return subjects;
}

std::vector<Subject> match(const std::vector<Benchmark>& candidates, const Baseline& baseline,
                           const std::string& file) {
  std::vector<Subject> subjects;
  for (const Benchmark& candidate : candidates)
    for (const BaselineEntry& entry : baseline.entries)
      if (candidate.id() == entry.program + "/" + entry.name)
        subjects.push_back({candidate.id(), candidate, entry});
  if (subjects.empty())
    raise(
        "candidate and baseline {} have no benchmark in common: one has {}, the other {}/{}. "
        "Record the baseline again where benchmarks were renamed.",
        file, candidates.front().id(), baseline.entries.front().program,
        baseline.entries.front().name);
  return subjects;
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
  return outcome;
}

}  // namespace reprise::checks
