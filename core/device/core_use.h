// What the processor gave this process while something was timed: whether a time is its own, or
// that of the programs beside it.
#pragma once

#include <cstdint>

namespace reprise {

// Between two moments, of all threads of this process together unless said otherwise.
struct CoreUse {
  double wall_ms = 0;
  double cpu_ms = 0;                 // processor time
  double waited_ms = 0;              // ready to run, and another thread had the core
  double background_ms = 0;          // of cpu_ms, that of BackgroundWork, which others wait for
  int64_t involuntary_switches = 0;  // a core was taken away
  double stolen_ms = 0;  // of all cores of this machine, by the machine it is a guest of; the
                         // system counts it in steps of 10 ms

  // What other programs or the host took. Threads of this process that wait for its own background
  // work have lost nothing.
  [[nodiscard]] double lost_ms() const;
  // True where that is so much that the time says little about what was timed: more than kLostShare
  // of it, and more than kLostMs, which waking threads wait for a free core.
  [[nodiscard]] bool lost_its_core() const;
  static constexpr double kLostShare = 0.05;
  static constexpr double kLostMs = 0.1;
};

CoreUse operator-(const CoreUse& end, const CoreUse& begin);

// Since the start of the system or the process: only differences mean something. What the system
// does not tell stays 0. Takes some 30 us and 20 us more for each thread: read it outside of what
// is timed.
CoreUse core_use_now();

}  // namespace reprise
