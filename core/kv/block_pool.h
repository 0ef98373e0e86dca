// A pool of fixed-size blocks of KV states for all layers, with a count of users for each block.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/device/buffer.h"
#include "core/kv/plan.h"

namespace reprise::kv {

struct BlockPoolOptions {
  int64_t layers = 0, kv_heads = 0, head_dim = 0;
  DType dtype = DType::kF32;
  int32_t block_tokens = 16;
  int32_t num_blocks = 0;
  // If false, blocks are counted and have offsets but no memory, and view() has null pointers. For
  // plans that are never executed.
  bool has_memory = true;
  std::shared_ptr<DeviceRuntime> runtime = nullptr;  // where the memory lies; null for the CPU
};

// Bytes of the keys and values of one block, all layers.
[[nodiscard]] int64_t block_bytes(const BlockPoolOptions& options);

// Keys and values are [blocks, layers, kv_heads, block_tokens, head_dim] each. A block's memory
// pages are not touched before its first use. Not thread-safe: the scheduler's thread owns the
// pool.
class BlockPool {
 public:
  // Throws MemoryError, with the bytes needed and available, if the blocks do not fit into memory.
  explicit BlockPool(const BlockPoolOptions& options);

  // Takes a free block, which then has one user; returns -1 if none is free.
  [[nodiscard]] int32_t take();
  void retain(int32_t block);   // adds a user
  void release(int32_t block);  // removes a user; the last one frees the block
  [[nodiscard]] int32_t users(int32_t block) const { return users_[static_cast<size_t>(block)]; }

  [[nodiscard]] const BlockPoolOptions& options() const { return options_; }
  [[nodiscard]] int32_t free_blocks() const { return static_cast<int32_t>(free_.size()); }
  [[nodiscard]] int32_t used_blocks() const { return options_.num_blocks - free_blocks(); }
  [[nodiscard]] int32_t peak_used_blocks() const { return peak_used_; }
  [[nodiscard]] int64_t block_bytes() const { return kv::block_bytes(options_); }
  [[nodiscard]] int64_t used_bytes() const { return used_blocks() * block_bytes(); }
  [[nodiscard]] int64_t peak_bytes() const { return peak_used_ * block_bytes(); }

  [[nodiscard]] CacheView view() const;
  // Returns the element offset, in keys and in values, of `token` of `block`, layer 0, head 0.
  [[nodiscard]] int64_t offset_of(int32_t block, int32_t token = 0) const;

 private:
  void take_memory();

  BlockPoolOptions options_;
  Buffer keys_, values_;
  std::vector<int32_t> users_;
  // stack: the block freed last is taken first, as it is most likely still in the processor's cache
  std::vector<int32_t> free_;
  int32_t peak_used_ = 0;
};

}  // namespace reprise::kv
