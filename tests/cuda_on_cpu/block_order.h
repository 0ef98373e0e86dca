// The order that fences and atomics make between the threads of a launch, also of different blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "tests/cuda_on_cpu/toucher.h"

namespace cuda_on_cpu {

// A __threadfence() followed by an atomic of the same thread releases, at the atomic's address, the
// accesses that are ordered before the fence. A later atomic at this address, followed by a
// __threadfence(), acquires them: they come before the accesses that are ordered after that fence.
// A write that is no atomic ends the releases at its address. Releases are not passed on: a thread
// does not release what was acquired in this way.
class BlockOrder {
 public:
  // Forgets what the previous block's threads have acquired.
  void start_block(size_t threads);

  // A __threadfence(). `known` is the clock of `who`, null without mbarriers; `block` as in Since.
  void fence(const Accessor& who, std::shared_ptr<const Clock> known, uint32_t block);
  void update_atomically(int thread, const void* address);
  void write(const void* address, size_t bytes);

  // Number of fences in the launch so far.
  [[nodiscard]] uint32_t fences() const { return fences_; }
  // True if the write comes before an access of the block that runs. `fences`: value of fences()
  // when it was made.
  [[nodiscard]] bool comes_before(const Toucher& write, uint32_t fences,
                                  const Accessor& later) const;

 private:
  struct Fence {
    Toucher by;
    std::shared_ptr<const Clock> known;
    uint32_t block = 0, number = 0;
  };
  using Fences = std::vector<std::shared_ptr<const Fence>>;
  struct Acquired {
    Toucher by;
    std::shared_ptr<const Fence> released;
  };
  struct ThreadFences {
    std::shared_ptr<const Fence> last;
    Fences seen;  // at the addresses of its atomics since the last fence
  };

  uint32_t fences_ = 0;
  std::map<uintptr_t, Fences> released_;  // by the address of the atomics
  std::vector<ThreadFences> threads_;     // of the block that runs
  std::vector<Acquired> acquired_;        // by the block that runs
};

}  // namespace cuda_on_cpu
