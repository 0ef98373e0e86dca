#include "tests/cuda_on_cpu/shared_memory.h"

#include <fmt/core.h>

namespace cuda_on_cpu {
namespace {

constexpr size_t kVariableAlignment = 128;
constexpr size_t kStartAlignment = 1024;
constexpr size_t kVariableMargin = 64;  // unused bytes behind each variable
constexpr size_t kCapacity = SharedMemory::kMostBytes + (32 << 10);

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

SharedMemory::SharedMemory()
    : storage_(std::make_unique<std::byte[]>(kCapacity + kStartAlignment)), bytes_(kCapacity) {}

std::byte* SharedMemory::memory() const {
  const auto start = reinterpret_cast<uintptr_t>(storage_.get());
  return storage_.get() + (rounded_up(start, kStartAlignment) - start);
}

void SharedMemory::start_block(size_t dynamic_bytes, uint32_t barriers) {
  for (size_t i = 0; i < used_; ++i) bytes_[i].copier = kNobody;
  regions_.assign(1, {nullptr, 0, dynamic_bytes});
  used_ = rounded_up(dynamic_bytes + kVariableMargin, kVariableAlignment);
  static_bytes_ = 0;
  first_barriers_ = barriers;
  fences_.clear();
}

std::byte* SharedMemory::variable(const void* key, size_t bytes, size_t alignment) {
  for (const Region& region : regions_)
    if (region.key == key) return memory() + region.begin;
  const size_t begin = rounded_up(used_, alignment);
  static_bytes_ = rounded_up(static_bytes_, alignment) + bytes;
  if (static_bytes_ > kMostStaticBytes || regions_[0].bytes + static_bytes_ > kMostBytes ||
      begin + bytes + kVariableMargin > kCapacity)
    return nullptr;
  regions_.push_back({key, begin, bytes});
  used_ = begin + bytes + kVariableMargin;
  return memory() + begin;
}

bool SharedMemory::contains(const void* address) const {
  const auto* byte = static_cast<const std::byte*>(address);
  return byte >= memory() && byte < memory() + kCapacity;
}

size_t SharedMemory::offset_of(const void* address) const {
  return static_cast<size_t>(static_cast<const std::byte*>(address) - memory());
}

const SharedMemory::Region* SharedMemory::region_of(size_t offset, size_t bytes) const {
  for (const Region& region : regions_)
    if (region.begin <= offset && offset + bytes <= region.begin + region.bytes) return &region;
  return nullptr;
}

std::string SharedMemory::name_of(size_t offset) const {
  const Region* nearest = &regions_[0];
  for (const Region& region : regions_)
    if (region.begin <= offset) nearest = &region;
  return fmt::format("byte {} of {} of {} bytes", offset - nearest->begin,
                     nearest->key == nullptr ? "the dynamic shared memory" : "a shared variable",
                     nearest->bytes);
}

MaybeFinding SharedMemory::check_bounds(const void* address, size_t bytes) const {
  const size_t offset = offset_of(address);
  if (region_of(offset, bytes) != nullptr) return std::nullopt;
  return Finding{FaultKind::kOutOfBounds, name_of(offset)};
}

MaybeFinding SharedMemory::check_read(size_t offset, const Toucher& who) const {
  const Byte& byte = bytes_[offset];
  if (byte.copier != kNobody)
    return Finding{FaultKind::kInFlight,
                   fmt::format("{}: thread {} has not waited for its copy there", name_of(offset),
                               byte.copier)};
  if (is_unwritten(offset)) return Finding{FaultKind::kUninitialized, name_of(offset)};
  if (who.comes_after(byte.write)) return std::nullopt;
  return Finding{FaultKind::kRace, fmt::format("{}: thread {} wrote it, with no barrier in between",
                                               name_of(offset), byte.write.thread)};
}

MaybeFinding SharedMemory::check_write(size_t offset, const Toucher& who, bool is_atomic) const {
  const Byte& byte = bytes_[offset];
  if (byte.copier != kNobody)
    return Finding{FaultKind::kInFlight,
                   fmt::format("{}: thread {} has not waited for its copy there", name_of(offset),
                               byte.copier)};
  if (!who.comes_after(byte.write) && !(is_atomic && byte.was_atomic))
    return Finding{FaultKind::kRace,
                   fmt::format("{}: thread {} wrote it too, with no barrier in between",
                               name_of(offset), byte.write.thread)};
  if (byte.read_barriers != who.barriers) return std::nullopt;
  const uint32_t own_warp = 1u << who.warp(), own_lane = 1u << who.lane();
  const bool other_warps = (byte.reader_warps & ~own_warp) != 0;
  const bool other_lanes = byte.last_reader / 32 == who.warp() &&
                           byte.read_warp_syncs == who.warp_syncs &&
                           (byte.reader_lanes & ~own_lane) != 0;
  if (!other_warps && !other_lanes) return std::nullopt;
  return Finding{FaultKind::kRace,
                 fmt::format("{}: read by others, thread {} the last, with no barrier in between",
                             name_of(offset), byte.last_reader)};
}

void SharedMemory::remember_read(Byte& byte, const Toucher& who) {
  const uint32_t warp = 1u << who.warp(), lane = 1u << who.lane();
  const bool is_first = byte.read_barriers != who.barriers;
  const bool same_run =
      !is_first && byte.last_reader / 32 == who.warp() && byte.read_warp_syncs == who.warp_syncs;
  byte.reader_warps = is_first ? warp : byte.reader_warps | warp;
  byte.reader_lanes = same_run ? byte.reader_lanes | lane : lane;
  byte.read_barriers = who.barriers;
  byte.read_warp_syncs = who.warp_syncs;
  byte.last_reader = who.thread;
}

MaybeFinding SharedMemory::touch(const void* address, size_t bytes, Touch how, const Toucher& who) {
  if (MaybeFinding finding = check_bounds(address, bytes)) return finding;
  const size_t begin = offset_of(address);
  for (size_t i = begin; i < begin + bytes; ++i) {
    const bool is_atomic = how == Touch::kAtomic;
    if (MaybeFinding finding =
            how == Touch::kRead ? check_read(i, who) : check_write(i, who, is_atomic))
      return finding;
    if (is_atomic && is_unwritten(i)) return Finding{FaultKind::kUninitialized, name_of(i)};
    if (how == Touch::kRead) {
      remember_read(bytes_[i], who);
    } else {
      bytes_[i].write = who;
      bytes_[i].written_at = ++clock_;
      bytes_[i].was_atomic = is_atomic;
    }
  }
  return std::nullopt;
}

MaybeFinding SharedMemory::begin_copy(const void* address, size_t bytes, const Toucher& who) {
  if (MaybeFinding finding = check_bounds(address, bytes)) return finding;
  const size_t begin = offset_of(address);
  for (size_t i = begin; i < begin + bytes; ++i) {
    if (MaybeFinding finding = check_write(i, who, /*is_atomic=*/false)) return finding;
    bytes_[i].copier = who.thread;
  }
  return std::nullopt;
}

void SharedMemory::end_copy(const void* address, size_t bytes, const Toucher& who) {
  const size_t begin = offset_of(address);
  for (size_t i = begin; i < begin + bytes; ++i) {
    bytes_[i].copier = kNobody;
    bytes_[i].write = who;
    bytes_[i].written_at = ++clock_;
    bytes_[i].was_atomic = false;
  }
}

void SharedMemory::fence_async_proxy(int thread) {
  const auto index = static_cast<size_t>(thread);
  if (fences_.size() <= index) fences_.resize(index + 1, 0);
  fences_[index] = ++clock_;
}

MaybeFinding SharedMemory::read_by_async_proxy(uint32_t address, size_t bytes, const Toucher& who) {
  const std::byte* at = memory() + address;
  if (MaybeFinding finding = touch(at, bytes, Touch::kRead, who)) return finding;
  for (size_t i = address; i < address + bytes; ++i) {
    const auto writer = static_cast<size_t>(bytes_[i].write.thread);
    if (writer >= fences_.size() || fences_[writer] < bytes_[i].written_at)
      return Finding{
          FaultKind::kRace,
          fmt::format("{}: thread {} wrote it and has not called fence.proxy.async since",
                      name_of(i), writer)};
  }
  return std::nullopt;
}

}  // namespace cuda_on_cpu
