// The device's global memory: which bytes belong to which cudaMalloc, and which thread of a launch
// wrote them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "tests/cuda_on_cpu/block_order.h"
#include "tests/cuda_on_cpu/finding.h"
#include "tests/cuda_on_cpu/toucher.h"

namespace cuda_on_cpu {

// Values of Toucher::barriers at the start of the launch that runs and of its present block.
// Accesses of earlier launches are ordered before this one's; those of other blocks of this launch
// only if `blocks` says so.
struct Since {
  uint32_t launch = 0, block = 0;
  // The value at the start of the first launch that may still run beside this one's thread; equals
  // `launch` if there is none.
  uint32_t unfinished = 0;
  const BlockOrder* blocks = nullptr;  // of this launch
};

class Buffers {
 public:
  // The buffers of the process.
  static Buffers& all();

  // Returns memory whose bytes are all 0xff, or null if the address range is used up.
  void* allocate(size_t bytes);
  // Returns false unless `start` is the start of a buffer in use. The memory of a freed buffer is
  // kept for a while, so that later accesses to it are reported.
  bool release(void* start);

  [[nodiscard]] int64_t used() const { return used_; }  // buffers
  [[nodiscard]] size_t used_bytes() const { return used_bytes_; }

  // True if any byte of [address, address + bytes) belongs to a buffer, in use or freed.
  [[nodiscard]] bool overlaps(const void* address, size_t bytes) const;
  // Checks that [address, address + bytes) lies in one buffer in use.
  [[nodiscard]] MaybeFinding check(const void* address, size_t bytes);
  // Does check() for an access of a kernel, and records the access. Finds a race if a launch that
  // may still run wrote there, or if another thread of this launch wrote there and nothing orders
  // the two accesses. (A write after another thread's read is found only when the threads or blocks
  // run in the other order.)
  MaybeFinding touch(const void* address, size_t bytes, Touch how, const Accessor& who,
                     const Since& since);
  // Records a write by a kernel that is not emulated, as a launch of its own with this
  // Toucher::barriers.
  void write(const void* address, size_t bytes, uint32_t barriers);

 private:
  struct Written {
    Toucher by;
    uint32_t fences : 31 = 0;  // BlockOrder::fences() at that time
    uint32_t was_atomic : 1 = 0;
    bool operator==(const Written&) const = default;
  };
  struct Buffer {
    size_t bytes = 0;
    int number = 0;  // counted from 1, for reports
    bool is_freed = false;
    std::vector<Written> writes;  // [bytes]  of kernels; empty before the first one
  };
  using Map = std::map<uintptr_t, Buffer>;

  [[nodiscard]] std::string nearest_to(uintptr_t address) const;

  void forget_oldest();

  Map buffers_;  // by their start, freed ones too
  int made_ = 0;
  int64_t used_ = 0;
  size_t used_bytes_ = 0;
  std::deque<Map::iterator> freed_;  // oldest first
  size_t freed_bytes_ = 0;
  Map::iterator last_ = buffers_.end();  // the buffer of the last access
};

}  // namespace cuda_on_cpu
