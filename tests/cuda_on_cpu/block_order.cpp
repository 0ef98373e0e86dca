#include "tests/cuda_on_cpu/block_order.h"

#include <algorithm>
#include <utility>

namespace cuda_on_cpu {

void BlockOrder::start_block(size_t threads) {
  threads_.assign(threads, {});
  acquired_.clear();
}

void BlockOrder::fence(const Accessor& who, std::shared_ptr<const Clock> known, uint32_t block) {
  ThreadFences& own = threads_[static_cast<size_t>(who.at.thread)];
  for (auto& released : own.seen) acquired_.push_back({who.at, std::move(released)});
  own.seen.clear();
  own.last = std::make_shared<const Fence>(
      Fence{.by = who.at, .known = std::move(known), .block = block, .number = ++fences_});
}

void BlockOrder::update_atomically(int thread, const void* address) {
  ThreadFences& own = threads_[static_cast<size_t>(thread)];
  Fences& released = released_[reinterpret_cast<uintptr_t>(address)];
  own.seen.insert(own.seen.end(), released.begin(), released.end());
  if (own.last != nullptr) released.push_back(own.last);
}

void BlockOrder::write(const void* address, size_t bytes) {
  constexpr uintptr_t kMostBytes = 8;  // of an atomic
  const auto begin = reinterpret_cast<uintptr_t>(address);
  released_.erase(released_.upper_bound(begin - kMostBytes), released_.lower_bound(begin + bytes));
}

bool BlockOrder::comes_before(const Toucher& write, uint32_t fences, const Accessor& later) const {
  return std::any_of(acquired_.begin(), acquired_.end(), [&](const Acquired& acquired) {
    const Fence& fence = *acquired.released;
    return write.barriers >= fence.block && fences < fence.number &&
           Accessor{fence.by, fence.known.get()}.comes_after(write) &&
           later.comes_after(acquired.by);
  });
}

}  // namespace cuda_on_cpu
