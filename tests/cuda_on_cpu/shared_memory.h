// A block's shared memory, with a record for every byte of who touched it last. It finds reads of
// bytes that were never written, races, and accesses to bytes that an asynchronous copy may still
// write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/cuda_on_cpu/finding.h"
#include "tests/cuda_on_cpu/read_sets.h"
#include "tests/cuda_on_cpu/toucher.h"

namespace cuda_on_cpu {

class SharedMemory {
 public:
  static constexpr size_t kMostBytes = 227 << 10;  // of a block on compute capability 9.0
  static constexpr size_t kMostStaticBytes = 48 << 10;

  SharedMemory();

  // Forgets all variables and accesses: nothing counts as written, and the dynamic part has
  // `dynamic_bytes`. `barriers` must be greater than any earlier Toucher's.
  void start_block(size_t dynamic_bytes, size_t threads, uint32_t barriers);

  [[nodiscard]] std::byte* dynamic() { return memory(); }
  // Returns null if the block has no room for the variable.
  std::byte* variable(const void* key, size_t bytes, size_t alignment);

  [[nodiscard]] bool contains(const void* address) const;
  // Checks the access and remembers it.
  MaybeFinding touch(const void* address, size_t bytes, Touch how, const Accessor& who);
  // An asynchronous copy begins: a write that is over only with end_copy(). If it is made by the
  // async proxy, what threads have written there before must have been fenced for this proxy.
  MaybeFinding begin_copy(const void* address, size_t bytes, const Accessor& who,
                          bool by_async_proxy = false);
  void end_copy(const void* address, size_t bytes, const Toucher& who);

  // The address as in wgmma's descriptor: bytes from the start of the memory.
  [[nodiscard]] uint32_t address_of(const void* address) const {
    return static_cast<uint32_t>(offset_of(address));
  }
  [[nodiscard]] const std::byte* at(uint32_t address) const { return memory() + address; }
  // Makes what the thread has written so far visible to each wgmma that is ordered behind this
  // fence.
  void fence_async_proxy(const Toucher& who);
  // Checks a read by a wgmma that `started` has started, and that may read as late as `done`.
  MaybeFinding read_by_async_proxy(uint32_t address, size_t bytes, const Accessor& started,
                                   const Toucher& done);

  // From now on the 8 bytes are an mbarrier, which no access may touch.
  MaybeFinding make_mbarrier(const void* address, const Accessor& who);
  // "byte 8 of the dynamic shared memory of 256 bytes"
  [[nodiscard]] std::string name_of(const void* address) const {
    return name_of(offset_of(address));
  }

 private:
  static constexpr int kNobody = -1, kMbarrier = -2;
  struct Byte {
    Toucher write;  // the last one; if from before the block's start, the byte is unwritten
    uint32_t read_barriers = 0, read_time = 0;
    uint32_t reader_warps = 0;  // since the last barrier
    uint32_t reader_lanes = 0;  // lanes of the last reader's warp since its last __syncwarp()
    uint32_t readers = ReadSets::kNone;  // since the last barrier, in a block with mbarriers
    int16_t last_reader = kNobody;
    int16_t copier = kNobody;  // thread whose asynchronous copy is under way, or kMbarrier
    bool was_atomic = false;
    uint64_t written_at = 0;  // by clock_
  };
  struct Region {
    const void* key;
    size_t begin, bytes;
  };

  [[nodiscard]] std::byte* memory() const;
  [[nodiscard]] size_t offset_of(const void* address) const;
  [[nodiscard]] const Region* region_of(size_t offset, size_t bytes) const;
  [[nodiscard]] std::string name_of(size_t offset) const;
  [[nodiscard]] std::string name_of_toucher(int number) const;
  [[nodiscard]] bool is_unwritten(const Byte& byte) const {
    return byte.write.barriers < first_barriers_;
  }
  [[nodiscard]] MaybeFinding check_bounds(const void* address, size_t bytes) const;
  [[nodiscard]] bool may_read(const Byte& byte, const Accessor& who) const;
  [[nodiscard]] bool may_write(const Byte& byte, const Accessor& who, bool is_atomic) const;
  [[nodiscard]] std::optional<int> reader_before(const Byte& byte, const Accessor& who) const;
  // Why a byte that a copy is writing, or that belongs to an mbarrier, may not be accessed.
  [[nodiscard]] Finding held(size_t offset) const;
  [[nodiscard]] Finding why_not_read(size_t offset) const;
  [[nodiscard]] Finding why_not_write(size_t offset, const Accessor& who, bool is_atomic) const;
  [[nodiscard]] MaybeFinding check_fence(size_t offset, const Accessor& who) const;
  void remember_read(Byte& byte, const Accessor& who);
  void remember_read_in_set(Byte& byte, const Accessor& who);
  void drop_unused_read_sets(uint32_t barriers);
  void remember_write(Byte& byte, const Toucher& who, bool is_atomic);

  std::unique_ptr<std::byte[]> storage_;
  std::vector<Byte> bytes_;
  std::vector<Region> regions_;  // the dynamic part, then the variables
  size_t used_ = 0, static_bytes_ = 0;
  size_t threads_ = 0;           // of the block
  uint32_t first_barriers_ = 0;  // value of barriers at the start of this block
  ReadSets read_sets_;           // of reads since barrier number `read_sets_since_`
  uint32_t read_sets_since_ = 0;
  size_t most_readers_ = 0;  // readers in read_sets_ above which unused sets are dropped
  uint64_t clock_ = 0;       // counts writes and fences
  struct Fence {
    uint64_t made_at = 0;  // by clock_
    Toucher by;
  };
  std::vector<std::vector<Fence>> fences_;  // [threads]  each fence.proxy.async, oldest first
};

}  // namespace cuda_on_cpu
