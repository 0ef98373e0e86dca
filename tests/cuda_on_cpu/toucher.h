// A thread that accesses memory, and the order of its accesses.
#pragma once

#include <cstdint>

namespace cuda_on_cpu {

enum class Touch : uint8_t { kRead, kWrite, kAtomic };

// Two accesses of a block are ordered where a __syncthreads() lies between them, or both are of one
// warp and a __syncwarp() of all its lanes does.
struct Toucher {
  int thread = 0;           // index in the block
  uint32_t barriers = 0;    // barriers of all blocks so far, and one per start of a block; from 1
  uint32_t warp_syncs = 0;  // __syncwarp() calls of the thread's warp

  [[nodiscard]] int warp() const { return thread / 32; }
  [[nodiscard]] int lane() const { return thread % 32; }
  // True if `earlier`, a thread of the same block, is ordered before this one.
  [[nodiscard]] bool comes_after(const Toucher& earlier) const {
    return earlier.thread == thread || earlier.barriers < barriers ||
           (earlier.warp() == warp() && earlier.warp_syncs < warp_syncs);
  }
};

}  // namespace cuda_on_cpu
