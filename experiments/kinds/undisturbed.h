// Timed work that is done again where other programs took its core, and what the processor gave it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/device/core_use.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// Of one method at one place of a sweep.
class Undisturbed {
 public:
  // Does at most `samples` pieces of work again, so that a point takes at most about twice its time
  // on a machine that never comes to rest.
  explicit Undisturbed(int64_t samples = 0) : retakes_left_(samples) {}

  // Calls prepare() and then work() until work() kept its core, kMostTries times at most, and
  // returns the last one's result. What the others returned is dropped and counted.
  template <typename Prepare, typename Work>
  auto take(Prepare&& prepare, Work&& work) {
    for (int tries = 1;; ++tries) {
      prepare();
      const CoreUse begin = core_use_now();
      auto result = work();
      const CoreUse use = core_use_now() - begin;
      if (use.lost_its_core() && tries < kMostTries && retakes_left_ > 0) {
        --retakes_left_;
        ++retaken_;
        continue;
      }
      uses_.push_back(use);
      return result;
    }
  }

  [[nodiscard]] int64_t disturbed() const;  // samples that count although they lost their core
  [[nodiscard]] int64_t retaken() const { return retaken_; }

  // Puts the uses into `out`, sample by sample, and marks its sampled metrics where any is
  // disturbed.
  void add_to(Measurement& out) const;

  static constexpr int kMostTries = 3;

 private:
  int64_t retakes_left_;
  int64_t retaken_ = 0;
  std::vector<CoreUse> uses_;
};

}  // namespace reprise::experiments
