// Vector clocks tell which accesses of other threads come before a thread's own. A block has clocks
// from its first mbarrier on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tests/cuda_on_cpu/toucher.h"

namespace cuda_on_cpu {

// Raises each element of `clock` to that of `other`.
void join(Clock& clock, const Clock& other);

class Clocks {
 public:
  // Drops the clocks. None are kept until start().
  void stop() { known_.clear(); }
  // warp_syncs [warps]: the number of __syncwarp() calls of each warp so far. The order that these
  // calls made remains.
  void start(size_t threads, std::span<const uint32_t> warp_syncs);
  [[nodiscard]] bool are_kept() const { return !known_.empty(); }

  [[nodiscard]] uint32_t time(size_t thread) const { return times_[thread]; }
  [[nodiscard]] const std::shared_ptr<Clock>& known(size_t thread) const { return known_[thread]; }
  // The accesses that each lane of the warp knows to come before its own: the minimum of the
  // clocks.
  [[nodiscard]] static Clock known_to_all(std::span<const std::shared_ptr<const Clock>> lanes);

  // The thread's accesses so far come before the later accesses of any thread that acquires `to`.
  void release(size_t thread, Clock& to);
  // The accesses that were released to `from` come before the thread's later accesses.
  void acquire(size_t thread, const Clock& from);
  // A __syncwarp() of the lanes of a mask.
  void sync_lanes(size_t warp, uint32_t lanes);

  // The wgmma of a warp counts as a thread of its own, because it reads after the warp has started
  // it.
  [[nodiscard]] size_t wgmma_of(size_t warp) const { return threads_ + warp; }
  // Records that all lanes have waited for the warp's wgmma.
  void finish_wgmma(size_t warp);

  // Boxes that are copied for an mbarrier count as accesses of a thread of their own. Returns its
  // number for another mbarrier; at most kMostBoxBarriers in a block.
  static constexpr size_t kMostBoxBarriers = 8;
  [[nodiscard]] size_t add_box_barrier();
  // The boxes copied so far come before the later accesses of any thread that acquires `to`.
  void finish_boxes(size_t of_barrier, Clock& to) { to[of_barrier] = ++times_[of_barrier]; }

 private:
  Clock& own(size_t thread);

  size_t threads_ = 0, warps_ = 0, box_barriers_ = 0;
  std::vector<uint32_t> times_;                // [threads + warps + kMostBoxBarriers]
  std::vector<std::shared_ptr<Clock>> known_;  // [threads]  lanes may share one
};

}  // namespace cuda_on_cpu
