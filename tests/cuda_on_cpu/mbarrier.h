// The state of one mbarrier of the block that runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/cuda_on_cpu/toucher.h"

namespace cuda_on_cpu {

// A box of copy_box_async() that has not arrived.
struct BoxCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  int64_t row_bytes = 0;  // from a row of `from` to the next
};

struct Mbarrier {
  static constexpr int kNothing = -2;

  std::string name;  // of its place, for reports
  Toucher made_by;
  unsigned arrivals = 0;          // that complete a phase
  unsigned missing = 0;           // arrivals still missing in the present phase
  int64_t missing_bytes = 0;      // of the present phase: those expected minus those of `boxes`
  std::vector<BoxCopy> boxes;     // of the present phase; they arrive when it is complete
  std::optional<size_t> copies;   // Clocks::add_box_barrier(); empty before the first box
  int phase = 0;                  // the present one; those before it are complete
  Clock gathered;                 // what the arrivals of the present phase release
  Clock completed;                // what the arrivals of the phase before released
  std::vector<int> last_waited;   // [threads] phase that each has last waited for, or kNothing
  std::vector<int> waiting;       // threads
  std::vector<int> not_yet_back;  // threads that waited for the phase before and have not gone on

  [[nodiscard]] bool is_complete(unsigned parity) const {
    return static_cast<unsigned>(phase) % 2 != parity;
  }
  // The phase that a thread means by a parity: the phase after the last one that it waited for, or
  // that last one again. -1 is the phase before the first.
  [[nodiscard]] int meant_phase(int thread, unsigned parity) const;
  // "phase 3 (parity 1) of the mbarrier at byte 8 of the dynamic shared memory of 256 bytes, 2 of 4
  // arrivals missing"
  [[nodiscard]] std::string text(int awaited_phase) const;
};

}  // namespace cuda_on_cpu
