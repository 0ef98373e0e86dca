#include "tests/cuda_on_cpu/buffers.h"

#include <fmt/core.h>

#include <cstdlib>
#include <cstring>

namespace cuda_on_cpu {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kMargin = 1024;  // before and behind each buffer

size_t rounded_up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Buffers& Buffers::all() {
  static Buffers buffers;
  return buffers;
}

void* Buffers::allocate(size_t bytes) {
  auto* memory =
      static_cast<char*>(std::aligned_alloc(kAlignment, rounded_up(bytes) + 2 * kMargin));
  if (memory == nullptr) return nullptr;
  char* start = memory + kMargin;
  std::memset(start, 0xff, bytes);
  const int number = static_cast<int>(buffers_.size()) + 1;
  buffers_[reinterpret_cast<uintptr_t>(start)] = {.bytes = bytes, .number = number};
  return start;
}

bool Buffers::release(void* start) {
  const auto found = buffers_.find(reinterpret_cast<uintptr_t>(start));
  if (found == buffers_.end() || found->second.is_freed) return false;
  found->second.is_freed = true;
  return true;
}

MaybeFinding Buffers::check(const void* pointer, size_t bytes) const {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const auto holds = [&](Map::const_iterator at) {
    return at->first <= address && address + bytes <= at->first + at->second.bytes;
  };
  if (last_ == buffers_.end() || !holds(last_)) {
    auto found = buffers_.upper_bound(address);
    if (found == buffers_.begin()) return Finding{FaultKind::kOutOfBounds, nearest_to(address)};
    --found;
    if (!holds(found)) return Finding{FaultKind::kOutOfBounds, nearest_to(address)};
    last_ = found;
  }
  if (last_->second.is_freed)
    return Finding{FaultKind::kFreed, fmt::format("byte {} of buffer {}, which is freed",
                                                  address - last_->first, last_->second.number)};
  return std::nullopt;
}

std::string Buffers::nearest_to(uintptr_t address) const {
  constexpr uintptr_t kNear = 1 << 20;
  const auto above = buffers_.upper_bound(address);
  std::string text = fmt::format("address {:#x}", address);
  if (above != buffers_.begin()) {
    const auto below = std::prev(above);
    if (const uintptr_t offset = address - below->first; offset < below->second.bytes + kNear)
      text += fmt::format(", byte {} of buffer {} of {} bytes", offset, below->second.number,
                          below->second.bytes);
  }
  if (above != buffers_.end() && above->first - address < kNear)
    text += fmt::format(", {} bytes before buffer {} of {} bytes", above->first - address,
                        above->second.number, above->second.bytes);
  return text;
}

}  // namespace cuda_on_cpu
