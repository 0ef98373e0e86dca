// A pool of device memory: a block that is given back serves a later request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace reprise::cuda {

// The size to which a request is rounded up. Below 2 MiB it is a multiple of 256 bytes with three
// significant bits, so a request of 1 KiB or more grows by at most a quarter. From 2 MiB on it is a
// multiple of 2 MiB, the unit in which the driver maps memory.
size_t size_class(size_t bytes);

// Holds blocks from cudaMalloc, sorted by size class. A block that is given back waits in the pool
// and serves the next request of its class without a driver call. When the device has no memory
// left, waiting blocks are freed. All work on a pool's blocks is in one stream, so the work of a
// block's next user runs after that of the previous user. Not thread-safe.
class MemoryPool {
 public:
  // `budget_bytes`: upper bound on held_bytes(); 0: no bound but the device's memory.
  explicit MemoryPool(int64_t budget_bytes = 0) : budget_bytes_(budget_bytes) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Uninitialized memory, aligned to 256 bytes; null for 0 bytes. Throws MemoryError with the bytes
  // needed and available.
  [[nodiscard]] void* take(size_t bytes);
  // Gives a block back; `bytes` as passed to take().
  void give(void* data, size_t bytes) noexcept;
  // Frees the waiting blocks. The work that used them must be done.
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
