// The device's global memory: which bytes belong to which cudaMalloc, and which thread of a launch
// wrote them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "tests/cuda_on_cpu/finding.h"
#include "tests/cuda_on_cpu/toucher.h"

namespace cuda_on_cpu {

// Toucher::barriers at the start of the launch that runs and of its present block: what an earlier
// launch did is ordered, what another block of this one did is not.
struct Since {
  uint32_t launch = 0, block = 0;
  // At the start of the first launch that may still run while this one's thread does; `launch`, if
  // there is none.
  uint32_t unfinished = 0;
};

class Buffers {
 public:
  // All of the process.
  static Buffers& all();

  // Null where the host has not the memory. Every byte is 0xff.
  void* allocate(size_t bytes);
  // False unless `start` is the start of a buffer in use. Its memory is kept for a while, so that
  // whoever still uses it is found.
  bool release(void* start);

  [[nodiscard]] int64_t used() const { return used_; }  // buffers
  [[nodiscard]] size_t used_bytes() const { return used_bytes_; }

  // True if any byte of [address, address + bytes) belongs to a buffer, in use or freed.
  [[nodiscard]] bool overlaps(const void* address, size_t bytes) const;
  // Checks that [address, address + bytes) lies in one buffer in use.
  [[nodiscard]] MaybeFinding check(const void* address, size_t bytes);
  // check() for an access of a kernel, which is also recorded. Finds a race if another thread wrote
  // there since the launch began and nothing orders the two accesses, or a launch that may still
  // run. (A write after another thread's read is found only when the threads run in the other
  // order.)
  MaybeFinding touch(const void* address, size_t bytes, Touch how, const Accessor& who,
                     const Since& since);
  // A kernel that is not emulated has written there: a launch of its own, with this
  // Toucher::barriers.
  void write(const void* address, size_t bytes, uint32_t barriers);

 private:
  struct Written {
    Toucher by;
    bool was_atomic = false;
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
  Map::iterator last_ = buffers_.end();  // that an access was in
};

}  // namespace cuda_on_cpu
