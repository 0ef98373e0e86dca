#include "tests/cuda_on_cpu/buffers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "tests/cuda_on_cpu/arena.h"

namespace cuda_on_cpu {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kMargin = 1024;  // before and behind each buffer
// Bytes of freed buffers that are kept. There is a limit, because each page counts when memory is
// opened and closed.
constexpr size_t kMostFreedBytes = 8 << 20;

size_t rounded_up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Buffers& Buffers::all() {
  static Buffers buffers;
  return buffers;
}

void* Buffers::allocate(size_t bytes) {
  auto* memory = static_cast<char*>(Arena::all().take(rounded_up(bytes) + 2 * kMargin));
  if (memory == nullptr) return nullptr;
  char* start = memory + kMargin;
  const OpenMemory open;
  std::memset(start, 0xff, bytes);
  buffers_[reinterpret_cast<uintptr_t>(start)] = {
      .bytes = bytes, .number = ++made_, .is_freed = false, .writes = {}};
  ++used_;
  used_bytes_ += bytes;
  return start;
}

bool Buffers::release(void* start) {
  const auto found = buffers_.find(reinterpret_cast<uintptr_t>(start));
  if (found == buffers_.end() || found->second.is_freed) return false;
  found->second.is_freed = true;
  --used_;
  used_bytes_ -= found->second.bytes;
  found->second.writes = {};
  freed_.push_back(found);
  freed_bytes_ += found->second.bytes;
  while (freed_bytes_ > kMostFreedBytes) forget_oldest();
  return true;
}

void Buffers::forget_oldest() {
  const auto oldest = freed_.front();
  freed_.pop_front();
  freed_bytes_ -= oldest->second.bytes;
  if (last_ == oldest) last_ = buffers_.end();
  Arena::all().drop(reinterpret_cast<char*>(oldest->first) - kMargin,
                    rounded_up(oldest->second.bytes) + 2 * kMargin);
  buffers_.erase(oldest);
}

bool Buffers::overlaps(const void* pointer, size_t bytes) const {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const auto above = buffers_.lower_bound(address + bytes);
  if (above == buffers_.begin()) return false;
  const auto below = std::prev(above);
  return address < below->first + below->second.bytes;
}

MaybeFinding Buffers::check(const void* pointer, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const auto holds = [&](Map::iterator at) {
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

MaybeFinding Buffers::touch(const void* pointer, size_t bytes, Touch how, const Accessor& who,
                            const Since& since) {
  if (MaybeFinding finding = check(pointer, bytes)) return finding;
  Buffer& buffer = last_->second;
  if (how == Touch::kRead && buffer.writes.empty()) return std::nullopt;
  buffer.writes.resize(buffer.bytes);
  const size_t begin = reinterpret_cast<uintptr_t>(pointer) - last_->first;
  Written ordered;  // the last write that did not race: most bytes of an access have the same one
  for (size_t i = begin; i < begin + bytes; ++i) {
    Written& written = buffer.writes[i];
    const bool of_this_launch = written.by.barriers >= since.launch;
    const bool of_other_block = of_this_launch && written.by.barriers < since.block;
    if (written.by.barriers >= since.unfinished && !of_this_launch)
      return Finding{FaultKind::kRace,
                     fmt::format("byte {} of buffer {}: a kernel before this one wrote it, and the "
                                 "thread has not waited for those (await_previous_kernels())",
                                 i, buffer.number)};
    const bool both_atomic = how == Touch::kAtomic && written.was_atomic;
    const auto is_ordered = [&] {
      return (!of_other_block && who.comes_after(written.by)) ||
             since.blocks->comes_before(written.by, written.fences, who);
    };
    if (of_this_launch && !both_atomic && written != ordered && !is_ordered())
      return Finding{
          FaultKind::kRace,
          fmt::format("byte {} of buffer {}: thread {} of {} wrote it in the same launch, "
                      "with {} in between",
                      i, buffer.number, written.by.thread,
                      of_other_block ? "another block" : "the block",
                      of_other_block ? "no fences and atomic" : "no barrier")};
    ordered = written;
    if (how != Touch::kRead)
      written = {.by = who.at,
                 .fences = since.blocks->fences(),
                 .was_atomic = how == Touch::kAtomic ? 1u : 0u};
  }
  return std::nullopt;
}

void Buffers::write(const void* pointer, size_t bytes, uint32_t barriers) {
  if (check(pointer, bytes)) return;
  Buffer& buffer = last_->second;
  buffer.writes.resize(buffer.bytes);
  const auto begin =
      buffer.writes.begin() +
      static_cast<std::ptrdiff_t>(reinterpret_cast<uintptr_t>(pointer) - last_->first);
  std::fill_n(begin, bytes, Written{.by = {.barriers = barriers}});
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
