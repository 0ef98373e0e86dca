// A thread that accesses memory, and the order of its accesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cuda_on_cpu {

enum class Touch : uint8_t { kRead, kWrite, kAtomic };

// A vector clock [threads + warps + Clocks::kMostBoxBarriers]. Its element says which accesses of a
// thread (of a warp's wgmma, or of the boxes that are copied for an mbarrier) are known to come
// before: those with a smaller Toucher::time.
using Clock = std::vector<uint32_t>;

// An access: the thread, and when it was.
struct Toucher {
  // Index in the block. Behind all threads come the wgmma of each warp, then the mbarriers for
  // which boxes are copied.
  int thread = 0;
  uint32_t barriers = 0;  // barriers and starts of blocks so far, in all blocks; from 1
  // Grows when later accesses may be ordered differently with respect to other threads than earlier
  // ones. In a block without mbarriers it counts the __syncwarp() calls of the thread's warp.
  uint32_t time = 0;

  bool operator==(const Toucher&) const = default;
  [[nodiscard]] int warp() const { return thread / 32; }
  [[nodiscard]] int lane() const { return thread % 32; }
};

// An access that is being made, and which accesses its thread knows to come before it.
struct Accessor {
  Toucher at;
  const Clock* known = nullptr;  // null in a block without mbarriers

  // True if `earlier`, an access of the same block, is ordered before this one: by a
  // __syncthreads(), by a __syncwarp() of all lanes of the warp, or by mbarriers (`known`).
  [[nodiscard]] bool comes_after(const Toucher& earlier) const {
    if (earlier.thread == at.thread || earlier.barriers < at.barriers) return true;
    if (known == nullptr) return earlier.warp() == at.warp() && earlier.time < at.time;
    return earlier.time < (*known)[static_cast<size_t>(earlier.thread)];
  }
};

}  // namespace cuda_on_cpu
