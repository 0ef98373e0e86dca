// Repeats timed work if other programs took its core, and records the processor time of each
// sample.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/device/context.h"
#include "core/device/core_use.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// The samples of one method at one point of a sweep.
class Undisturbed {
 public:
  // Allows `samples` repeats in total and kMostTries calls for a sample, so that a point takes at
  // most about twice as long on a busy machine as on an idle one. Further repeats, of short work,
  // may take kShortBudgetMs in total. `context` has the threads that work() runs on. With 0 samples
  // nothing is repeated.
  explicit Undisturbed(int64_t samples = 0, const Context& context = {.threads = 1})
      : retakes_left_(samples),
        short_left_ms_(samples > 0 ? kShortBudgetMs : 0),
        context_(context) {}

  // Calls prepare() and work() until work() keeps its core or may not be repeated. Returns the
  // result of the call that lost the least; the other calls are dropped and counted.
  template <typename Prepare, typename Work>
  auto take(Prepare&& prepare, Work&& work) {
    using Result = decltype(work());
    std::optional<Result> best;
    CoreUse best_use;
    for (int tries = 1;; ++tries) {
      prepare();
      // A rest lets the threads fall asleep, so they are woken before each further try.
      if (tries > 1) (void)wake_threads(context_);
      const CoreUse begin = core_use_now();
      Result result = work();
      const CoreUse use = core_use_now() - begin;
      if (!best || lost_share(use) < lost_share(best_use)) {
        best.emplace(std::move(result));
        best_use = use;
      }
      if (!use.lost_its_core() || !may_retake(use, tries)) break;
      ++retaken_;
      rest();
    }
    uses_.push_back(best_use);
    return std::move(*best);
  }

  [[nodiscard]] int64_t disturbed() const;  // samples kept although they lost their core
  [[nodiscard]] int64_t retaken() const { return retaken_; }

  // Adds the core use of each sample to `out`. Must be called first: samples that are added
  // afterwards are marked if results::disturbed_mark() returns a mark.
  void add_to(Measurement& out) const;
  // For a metric of `out` that compares pairs of a sample of this object and one of `other`: marks
  // it as disturbed if samples of the pairs were.
  void mark_comparison(const Undisturbed& other, const MetricInfo& metric, Measurement& out) const;

  static constexpr int kMostTries = 3;  // calls of work() for one sample, short repeats not counted
  static constexpr double kShortBudgetMs = 500;
  // Two scheduler ticks of most systems. A rested thread gets a core at once and keeps it longer.
  static constexpr std::chrono::milliseconds kRest{8};

 private:
  static double lost_share(const CoreUse& use) {
    return use.wall_ms > 0 ? use.lost_ms() / use.wall_ms : 0;
  }
  // True if the work may be repeated. Then reduces the remaining budget by the repeat.
  bool may_retake(const CoreUse& use, int tries);
  static void rest();

  int64_t retakes_left_;
  double short_left_ms_;
  Context context_;
  int64_t retaken_ = 0;
  std::vector<CoreUse> uses_;
};

}  // namespace reprise::experiments
