// Finds the fastest of several settings by running all of them in turn, so that each round compares
// them under the same conditions. The fastest settings get more rounds, because the differences
// between them are smaller than the noise of one setting between rounds.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/steady_now.h"
#include "core/device/cpu.h"
#include "core/device/machine.h"
#include "core/device/memory.h"

namespace reprise::kernels {

template <typename Setting>
struct Calibration {
  struct Trial {
    Setting setting;
    double read_gb_s = 0;  // median
    double speedup = 1;    // against the default: median of the rounds' ratios
    int rounds = 0;        // the fastest settings are measured in more rounds
  };

  Setting chosen;
  std::vector<Trial> trials;  // the first is the default; empty if nothing was measured
  std::string reason;         // why this setting was chosen
  double elapsed_s = 0;
};

// Least speed-up over the default, as a ratio of rates, for which another setting replaces the
// default.
inline constexpr double kLeastGain = 1.01;

// Size of a buffer that is so large that repeated reads of it come from memory: six times the size
// of all L3 caches, because an L3 does not evict in order, and at least 192 MiB. (Zen 5: with a
// buffer of twice the L3, some settings seem 1.28 times as fast as they are from memory.) The size
// is at most an eighth of the free memory. It is also at most 512 MiB a thread, so that writing the
// buffer takes only some tenths of a second: two cores that share an L3 of 480 MiB with other cores
// would otherwise get a far larger buffer.
inline int64_t bytes_beyond_caches(int threads) {
  const CpuFacts& cpu = cpu_facts();
  const int64_t wanted = 6 * std::max<int64_t>(cpu.l3_bytes * cpu.l3_instances, 32 << 20);
  const int64_t writable = (int64_t{512} << 20) * std::max(1, threads);
  return std::min({wanted, available_bytes() / 8, writable});
}

inline double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Returns the fastest of `settings`, the first of which is the default. rate_of(setting) does a
// piece of work and returns the work's rate in GB/s.
template <typename Setting, typename RateOf>
Calibration<Setting> hold_contest(const std::vector<Setting>& settings, RateOf&& rate_of) {
  constexpr int kRounds = 5, kFinalRounds = 15;
  constexpr size_t kFinalists = 4;  // beside the default
  struct Candidate {
    Setting setting;
    std::vector<double> rates, speedups;  // [rounds]
  };
  const int64_t begin_ns = steady_now_ns();
  std::vector<Candidate> candidates;
  for (const Setting& setting : settings) candidates.push_back({setting, {}, {}});
  const auto play = [&](int rounds, size_t count) {
    for (int round = 0; round < rounds; ++round) {
      double of_default = 0;
      for (size_t i = 0; i < count; ++i) {
        const double rate = rate_of(candidates[i].setting);
        if (i == 0) of_default = rate;
        candidates[i].rates.push_back(rate);
        candidates[i].speedups.push_back(rate / of_default);
      }
    }
  };
  (void)rate_of(settings.front());  // grows the buffers
  play(kRounds, candidates.size());
  std::stable_sort(candidates.begin() + 1, candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return median_of(a.speedups) > median_of(b.speedups);
                   });
  const size_t finalists = std::min(1 + kFinalists, candidates.size());
  play(kFinalRounds, finalists);

  Calibration<Setting> found{.chosen = settings.front(), .trials = {}, .reason = ""};
  for (const Candidate& one : candidates)
    found.trials.push_back({.setting = one.setting,
                            .read_gb_s = median_of(one.rates),
                            .speedup = median_of(one.speedups),
                            .rounds = static_cast<int>(one.rates.size())});
  const auto best =
      std::max_element(found.trials.begin(), found.trials.begin() + static_cast<int64_t>(finalists),
                       [](const auto& a, const auto& b) { return a.speedup < b.speedup; });
  if (best->speedup > kLeastGain) {
    found.chosen = best->setting;
    found.reason = fmt::format("{:.2f} times as fast as the default", best->speedup);
  } else {
    found.reason =
        fmt::format("the default: none is more than {:.0f} % faster", 100 * (kLeastGain - 1));
  }
  found.elapsed_s = seconds_since(begin_ns);
  return found;
}

// Converts a calibration to the form that records keep.
template <typename Setting>
FetchChoice choice_of(const Calibration<Setting>& calibration) {
  FetchChoice choice{.chosen = text_of(calibration.chosen),
                     .reason = calibration.reason,
                     .trials = {},
                     .elapsed_s = calibration.elapsed_s};
  for (const auto& trial : calibration.trials)
    choice.trials.push_back({.setting = text_of(trial.setting),
                             .read_gb_s = trial.read_gb_s,
                             .speedup = trial.speedup,
                             .rounds = trial.rounds});
  return choice;
}

}  // namespace reprise::kernels
