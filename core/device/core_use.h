// Processor time that this process got and lost while some work was timed. It shows whether other
// programs disturbed the measurement.
#pragma once

#include <cstdint>

namespace reprise {

// Use of the processor between two moments, summed over all threads of this process unless a field
// says otherwise.
struct CoreUse {
  double wall_ms = 0;
  double cpu_ms = 0;  // processor time
  // Time in which threads without BackgroundWork were ready to run, but another thread had the
  // core.
  double waited_ms = 0;
  double background_ms = 0;          // the part of cpu_ms that BackgroundWork took
  int64_t involuntary_switches = 0;  // times that a thread's core was taken away
  double stolen_ms = 0;              // taken by the host of this virtual machine, summed over
                                     // all cores; the system counts it in steps of 10 ms

  // Time that other programs or the host took. Time in which threads of this process waited for its
  // own background work does not count.
  [[nodiscard]] double lost_ms() const;
  // True if lost_ms() is more than kLostShare of wall_ms and also more than kLostMs milliseconds.
  // The measured time then says little about the timed work. (A smaller loss is normal: a thread
  // that wakes up waits up to kLostMs for a free core.)
  [[nodiscard]] bool lost_its_core() const;
  static constexpr double kLostShare = 0.05;
  static constexpr double kLostMs = 0.1;
};

CoreUse operator-(const CoreUse& end, const CoreUse& begin);

// Returns counters that run since the start of the system or of the process: only the difference of
// two CoreUse means something. Counters that the system does not report are 0. A call takes about
// 30 us, plus 20 us for each thread, so call it outside of the timed work.
CoreUse core_use_now();

}  // namespace reprise
