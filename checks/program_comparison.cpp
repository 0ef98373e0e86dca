#include <algorithm>
#include <cmath>
#include <utility>

#include "checks/comparison.h"
#include "checks/limit_share.h"
#include "core/base/random.h"

namespace reprise::checks {
namespace {

class ProgramComparison : public Comparison {
 public:
  ProgramComparison(const Bench& bench, Benchmark baseline, Benchmark candidate, uint64_t seed)
      : bench_(bench),
        baseline_(std::move(baseline)),
        candidate_(std::move(candidate)),
        seed_(seed),
        plan_(plan_for(baseline_, bench.stop)) {}

  double run_same() override {
    const Run first = run(baseline_), second = run(baseline_);
    round_s_.push_back(first.wall_s + second.wall_s);
    for (const Run& each : {first, second})
      if (!fastest_.has_value() || each.fastest.time_s < fastest_->time_s) fastest_ = each.fastest;
    return std::log(second.fastest.time_s / first.fastest.time_s);
  }

  void begin_rounds() override { limit_ = nearest_limit(*fastest_, bench_.machine); }

  void run_round() override {
    const bool has_own = limit_.has_value() && is_device_limit(*limit_);
    const double measured =
        limit_.has_value() && !has_own ? bench_.probe.measure(*limit_, 0.0) : 0.0;
    const bool candidate_first =
        (random_bits(seed_, 0, static_cast<uint64_t>(differences_.size())) & 1u) != 0;
    Run runs[2];  // baseline, candidate
    for (const size_t side : {candidate_first ? 1u : 0u, candidate_first ? 0u : 1u})
      runs[side] = run(side == 0 ? baseline_ : candidate_);
    for (const size_t side : {0u, 1u}) {
      const Repetition& fastest = runs[side].fastest;
      sides_[side].times_s.push_back(fastest.time_s);
      sides_[side].cpu_shares.push_back(fastest.cpu_share);
      if (limit_.has_value() && has_limit_share(fastest, *limit_))
        sides_[side].limit_shares.push_back(
            limit_share(fastest, *limit_, has_own ? device_limit(fastest, *limit_) : measured));
    }
    differences_.push_back(std::log(runs[1].fastest.time_s / runs[0].fastest.time_s));
  }

  [[nodiscard]] int rounds() const override { return static_cast<int>(differences_.size()); }
  [[nodiscard]] results::Shift shift(double alpha) const override {
    return results::paired_shift(differences_, alpha);
  }
  [[nodiscard]] double p_value() const override { return results::signed_rank_p(differences_); }
  [[nodiscard]] Side baseline() const override { return sides_[0]; }
  [[nodiscard]] const Side& candidate() const override { return sides_[1]; }
  [[nodiscard]] std::optional<Limit> limit() const override { return limit_; }
  [[nodiscard]] const RunPlan& plan() const override { return plan_; }
  [[nodiscard]] double round_s() const override {
    double sum = 0;
    for (const double s : round_s_) sum += s;
    return sum / static_cast<double>(std::max<size_t>(1, round_s_.size()));
  }

 private:
  [[nodiscard]] Run run(const Benchmark& benchmark) const {
    return run_benchmark(benchmark, plan_, bench_.stop);
  }

  Bench bench_;
  Benchmark baseline_, candidate_;
  uint64_t seed_;
  RunPlan plan_;
  std::vector<double> round_s_;
  std::optional<Repetition> fastest_;  // fastest repetition of the baseline's A/A runs
  std::optional<Limit> limit_;
  Side sides_[2];  // baseline, candidate
  std::vector<double> differences_;
};

}  // namespace

std::unique_ptr<Comparison> compare_programs(const Bench& bench, Benchmark baseline,
                                             Benchmark candidate, uint64_t seed) {
  return std::make_unique<ProgramComparison>(bench, std::move(baseline), std::move(candidate),
                                             seed);
}

}  // namespace reprise::checks
