#include <cmath>
#include <utility>

#include "checks/comparison.h"
#include "checks/limit_beside.h"
#include "checks/limit_share.h"

namespace reprise::checks {
namespace {

std::vector<double> logarithms(const std::vector<double>& values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  return logs;
}

class BaselineComparison : public Comparison {
 public:
  BaselineComparison(const Bench& bench, BaselineEntry baseline, Benchmark candidate)
      : bench_(bench),
        entry_(std::move(baseline)),
        candidate_(std::move(candidate)),
        plan_(plan_for(candidate_, bench.stop)) {}

  double run_same() override {
    const Sample first = sample(), second = sample();
    same_s_ += first.wall_s + second.wall_s;
    ++same_runs_;
    return std::log(first.limit_share / second.limit_share);
  }

  void begin_rounds() override {}

  void run_round() override {
    const Sample next = sample();
    side_.times_s.push_back(next.time_s);
    side_.cpu_shares.push_back(next.cpu_share);
    side_.limit_shares.push_back(next.limit_share);
  }

  [[nodiscard]] int rounds() const override { return static_cast<int>(side_.times_s.size()); }
  // A smaller share means slower. So the result is the shift of the baseline's shares above the
  // candidate's: above 0 means that the candidate is slower.
  [[nodiscard]] results::Shift shift(double alpha) const override {
    return results::unpaired_shift(logarithms(side_.limit_shares), logarithms(entry_.limit_shares),
                                   alpha);
  }
  [[nodiscard]] double p_value() const override {
    return results::rank_sum_p(side_.limit_shares, entry_.limit_shares);
  }
  [[nodiscard]] Side baseline() const override {
    return {.times_s = entry_.times_s, .limit_shares = entry_.limit_shares};
  }
  [[nodiscard]] const Side& candidate() const override { return side_; }
  [[nodiscard]] std::optional<Limit> limit() const override { return entry_.limit; }
  [[nodiscard]] const RunPlan& plan() const override { return plan_; }
  [[nodiscard]] double round_s() const override {
    return same_runs_ > 0 ? same_s_ / (2 * same_runs_) : 0.0;
  }

 private:
  [[nodiscard]] Sample sample() const {
    return sample_beside_limit(bench_, candidate_, plan_, entry_.limit);
  }

  Bench bench_;
  BaselineEntry entry_;
  Benchmark candidate_;
  RunPlan plan_;
  double same_s_ = 0;
  int same_runs_ = 0;
  Side side_;
};

}  // namespace

std::unique_ptr<Comparison> compare_with_baseline(const Bench& bench, BaselineEntry baseline,
                                                  Benchmark candidate) {
  return std::make_unique<BaselineComparison>(bench, std::move(baseline), std::move(candidate));
}

}  // namespace reprise::checks
