// Device memory that is taken once and then handed out again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace reprise::cuda {

// The size that a request is rounded up to: a multiple of 256 bytes with three significant bits
// below 2 MiB (at most a quarter is lost), whole 2 MiB from there on, as the driver maps them.
size_t size_class(size_t bytes);

// Blocks of cudaMalloc by size class. A block that is given back serves the next request of its
// class, without a call of the driver; where the device has no more, those that wait are returned
// to it. Whoever takes a block again must be ordered behind its former user: all work of a pool's
// blocks is in one stream. Not thread-safe.
class MemoryPool {
 public:
  // `budget_bytes`: the most it ever holds; 0: what the device has.
  explicit MemoryPool(int64_t budget_bytes = 0) : budget_bytes_(budget_bytes) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Unwritten, aligned to 256 bytes; 0 bytes are null. Throws MemoryError with need and have.
  [[nodiscard]] void* take(size_t bytes);
  // `bytes` as they were asked for.
  void give(void* data, size_t bytes) noexcept;
  // Returns the blocks that nobody uses to the device; the work that used them is done.
  void trim();

  [[nodiscard]] int64_t used_bytes() const { return used_bytes_; }  // by size class
  [[nodiscard]] int64_t peak_bytes() const { return peak_bytes_; }  // the most used at once
  [[nodiscard]] int64_t held_bytes() const { return used_bytes_ + waiting_bytes_; }
  // What take() could give in all, as far as the device tells.
  [[nodiscard]] int64_t available_bytes() const;

 private:
  [[nodiscard]] void* from_device(size_t rounded);
  [[noreturn]] void refuse(size_t bytes) const;

  int64_t budget_bytes_;
  int64_t used_bytes_ = 0, peak_bytes_ = 0, waiting_bytes_ = 0;
  std::multimap<size_t, void*> waiting_;  // by size class
};

}  // namespace reprise::cuda
