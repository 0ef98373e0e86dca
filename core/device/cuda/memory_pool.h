// A pool of device memory: blocks that are given back are handed out again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace reprise::cuda {

// The size that a request is rounded up to: below 2 MiB a multiple of 256 bytes with three
// significant bits (at most a quarter more than asked, from 1 KiB on); from there on a multiple of
// 2 MiB, as the driver maps them.
size_t size_class(size_t bytes);

// Blocks of cudaMalloc by size class. A block that is given back serves the next request of its
// class without a driver call; when the device has no memory left, waiting blocks are returned to
// it. All work on a pool's blocks is in one stream, so a block's next user comes after its last
// one. Not thread-safe.
class MemoryPool {
 public:
  // `budget_bytes`: the most the pool ever holds; 0: all that the device has.
  explicit MemoryPool(int64_t budget_bytes = 0) : budget_bytes_(budget_bytes) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Uninitialized memory, aligned to 256 bytes; null for 0 bytes. Throws MemoryError with the bytes
  // needed and available.
  [[nodiscard]] void* take(size_t bytes);
  // Gives a block back; `bytes` as passed to take().
  void give(void* data, size_t bytes) noexcept;
  // Returns the waiting blocks to the device. The work that used them must be done.
  void trim();

  [[nodiscard]] int64_t used_bytes() const { return used_bytes_; }  // sum of size_class()
  [[nodiscard]] int64_t peak_bytes() const { return peak_bytes_; }  // the most used at once
  [[nodiscard]] int64_t held_bytes() const { return used_bytes_ + waiting_bytes_; }
  // Bytes that take() could still give in all, as far as the device reports its free memory.
  [[nodiscard]] int64_t available_bytes() const;

 private:
  [[nodiscard]] void* from_device(size_t rounded);
  [[noreturn]] void refuse(size_t bytes) const;

  int64_t budget_bytes_;
  int64_t used_bytes_ = 0, peak_bytes_ = 0, waiting_bytes_ = 0;
  std::multimap<size_t, void*> waiting_;  // by size class
};

}  // namespace reprise::cuda
