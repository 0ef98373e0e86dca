// Repeats timed work if other programs took its cores, and records the processor time of each
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

// Takes the samples of one point: of one method with one combination of settings.
class Undisturbed {
 public:
  // Allows `samples` repeats in total, and at most kMostTries calls for one sample. So a point
  // takes at most about twice as long on a busy machine as on an idle one. Short work may be
  // repeated more often, for kShortBudgetMs in total. If `samples` is 0, nothing is repeated.
  // `context` has the threads that work() runs on.
  explicit Undisturbed(int64_t samples = 0, const Context& context = {.threads = 1})
      : retakes_left_(samples),
        short_left_ms_(samples > 0 ? kShortBudgetMs : 0),
        context_(context) {}

  // Calls prepare() and work() until work() keeps its cores, or until no repeat is allowed. Returns
  // the result of the call of work() that lost the least. Counts the other calls and drops their
  // results.
  template <typename Prepare, typename Work>
  auto take(Prepare&& prepare, Work&& work) {
    using Result = decltype(work());
    std::optional<Result> best;
    CoreUse best_use;
    for (int tries = 1;; ++tries) {
      prepare();
      // The rest before a further try lets the threads fall asleep, so they are woken first.
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

  // Adds the core use of each sample to `out`, and sets out.disturbed to results::disturbed_mark().
  // Must be called before samples are added to `out`, so that they get this mark.
  void add_to(Measurement& out) const;
  // For a metric of `out` that compares each sample of this object with the sample of `other` from
  // the same repetition. Marks the metric by results::disturbed_mark(), where a pair counts as
  // disturbed if either of its samples is.
  void mark_comparison(const Undisturbed& other, const MetricInfo& metric, Measurement& out) const;

  static constexpr int kMostTries = 3;  // calls of work() for one sample, without short repeats
  static constexpr double kShortBudgetMs = 500;
  // Pause before a repeat: two scheduler ticks of most systems. A thread that has slept gets a core
  // at once and keeps it longer.
  static constexpr std::chrono::milliseconds kRest{8};

 private:
  static double lost_share(const CoreUse& use) {
    return use.wall_ms > 0 ? use.lost_ms() / use.wall_ms : 0;
  }
  // Returns true if the work may be repeated, and then takes the repeat off the remaining budget.
  bool may_retake(const CoreUse& use, int tries);
  static void rest();

  int64_t retakes_left_;
  double short_left_ms_;
  Context context_;
  int64_t retaken_ = 0;
  std::vector<CoreUse> uses_;
};

}  // namespace reprise::experiments
