#include "core/kv/block_pool.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/device/memory.h"

namespace reprise::kv {
namespace {

// Returns the bytes of the keys. If the product overflows, returns SIZE_MAX, which no allocation
// grants.
size_t storage_bytes(const BlockPoolOptions& o) {
  size_t bytes = size_of(o.dtype);
  for (int64_t extent : {o.layers, o.kv_heads, o.head_dim, static_cast<int64_t>(o.block_tokens),
                         static_cast<int64_t>(o.num_blocks)})
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(extent), &bytes)) return SIZE_MAX;
  return bytes;
}

}  // namespace

int64_t block_bytes(const BlockPoolOptions& options) {
  return 2 * options.layers * options.kv_heads * options.head_dim * options.block_tokens *
         static_cast<int64_t>(size_of(options.dtype));
}

BlockPool::BlockPool(const BlockPoolOptions& options) : options_(options) {
  REPRISE_CHECK(options.layers > 0 && options.kv_heads > 0 && options.head_dim > 0 &&
                options.block_tokens > 0 && options.num_blocks > 0);
  if (options.has_memory) take_memory();
  users_.assign(static_cast<size_t>(options.num_blocks), 0);
  for (int32_t block = options.num_blocks - 1; block >= 0; --block) free_.push_back(block);
}

void BlockPool::take_memory() {
  const BlockPoolOptions& options = options_;
  const size_t both_bytes = 2 * storage_bytes(options);
  try {
    // Each buffer alone may fit, and no page of either is touched before its first use.
    if (options.runtime == nullptr) require_available(both_bytes);
    keys_ = Buffer(options.runtime, storage_bytes(options));
    values_ = Buffer(options.runtime, storage_bytes(options));
  } catch (const MemoryError& error) {
    const auto need_bytes = static_cast<double>(both_bytes);
    throw MemoryError(
        fmt::format("the KV cache needs {:.3f} GiB ({} blocks of {} tokens, {} layers, "
                    "{} kv heads of {}, {}): {}",
                    need_bytes / 0x1p30, options.num_blocks, options.block_tokens, options.layers,
                    options.kv_heads, options.head_dim, name_of(options.dtype), error.what()),
        need_bytes);
  }
}

int32_t BlockPool::take() {
  if (free_.empty()) return -1;
  const int32_t block = free_.back();
  free_.pop_back();
  users_[static_cast<size_t>(block)] = 1;
  peak_used_ = std::max(peak_used_, used_blocks());
  return block;
}

void BlockPool::retain(int32_t block) {
  REPRISE_CHECK(users(block) > 0, "block {} is free", block);
  ++users_[static_cast<size_t>(block)];
}

void BlockPool::release(int32_t block) {
  REPRISE_CHECK(users(block) > 0, "block {} is free already", block);
  if (--users_[static_cast<size_t>(block)] == 0) free_.push_back(block);
}

CacheView BlockPool::view() const {
  const int64_t head_stride = options_.block_tokens * options_.head_dim;
  return {.keys = const_cast<void*>(keys_.data()),
          .values = const_cast<void*>(values_.data()),
          .dtype = options_.dtype,
          .device = options_.runtime != nullptr ? options_.runtime->device() : Device::kCpu,
          .layer_stride = options_.kv_heads * head_stride,
          .head_stride = head_stride,
          .kv_heads = options_.kv_heads,
          .head_dim = options_.head_dim};
}

int64_t BlockPool::offset_of(int32_t block, int32_t token) const {
  return block * options_.layers * view().layer_stride + token * options_.head_dim;
}

}  // namespace reprise::kv
