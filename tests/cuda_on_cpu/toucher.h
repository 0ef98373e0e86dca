// A thread that accesses memory, and the order of its accesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cuda_on_cpu {

enum class Touch : uint8_t { kRead, kWrite, kAtomic };

// A vector clock: [threads + warps]  the accesses of each thread (and of the wgmma of each warp)
// with a smaller Toucher::time come before.
using Clock = std::vector<uint32_t>;

// An access: the thread, and when it was.
struct Toucher {
  int thread = 0;         // index in the block; behind the threads: the wgmma of each warp
  uint32_t barriers = 0;  // barriers of all blocks so far, and one per start of a block; from 1
  // Grows where a later access may be in another order to other threads than an earlier one. In a
  // block without mbarriers it counts the __syncwarp() calls of the thread's warp.
  uint32_t time = 0;

  [[nodiscard]] int warp() const { return thread / 32; }
  [[nodiscard]] int lane() const { return thread % 32; }
};

// An access that is being made, and what comes before it.
struct Accessor {
  Toucher at;
  const Clock* known = nullptr;  // null in a block without mbarriers

  // True if `earlier`, of the same block, is ordered before: by a __syncthreads(), or a
  // __syncwarp() of all lanes of the warp, or what the thread knows by mbarriers.
  [[nodiscard]] bool comes_after(const Toucher& earlier) const {
    if (earlier.thread == at.thread || earlier.barriers < at.barriers) return true;
    if (known == nullptr) return earlier.warp() == at.warp() && earlier.time < at.time;
    return earlier.time < (*known)[static_cast<size_t>(earlier.thread)];
  }
};

}  // namespace cuda_on_cpu
