#include "tests/cuda_on_cpu/shared_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace cuda_on_cpu {
namespace {

constexpr size_t kVariableAlignment = 128;
constexpr size_t kStartAlignment = 1024;
constexpr size_t kVariableMargin = 64;  // unused bytes behind each variable
constexpr size_t kMostReaders = 1 << 20;
constexpr size_t kCapacity = SharedMemory::kMostBytes + (32 << 10);

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

SharedMemory::SharedMemory()
    : storage_(std::make_unique<std::byte[]>(kCapacity + kStartAlignment)), bytes_(kCapacity) {}

std::byte* SharedMemory::memory() const {
  const auto start = reinterpret_cast<uintptr_t>(storage_.get());
  return storage_.get() + (rounded_up(start, kStartAlignment) - start);
}

void SharedMemory::start_block(size_t dynamic_bytes, size_t threads, uint32_t barriers) {
  threads_ = threads;
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

std::string SharedMemory::name_of_toucher(int number) const {
  const auto index = static_cast<size_t>(number), warps = (threads_ + 31) / 32;
  if (index < threads_) return fmt::format("thread {}", index);
  if (index < threads_ + warps) return fmt::format("the wgmma of warp {}", index - threads_);
  return "a copy of a box";
}

MaybeFinding SharedMemory::check_bounds(const void* address, size_t bytes) const {
  const size_t offset = offset_of(address);
  if (region_of(offset, bytes) != nullptr) return std::nullopt;
  return Finding{FaultKind::kOutOfBounds, name_of(offset)};
}

// Returns what a byte belongs to instead of the block: an mbarrier, or a copy that is under way.
Finding SharedMemory::held(size_t offset) const {
  const int copier = bytes_[offset].copier;
  if (copier == kMbarrier)
    return {FaultKind::kBarrier,
            name_of(offset) +
                ": it is an mbarrier, which only barrier_arrive() and barrier_wait() may touch"};
  return {FaultKind::kInFlight,
          fmt::format("{}: thread {} has not waited for its copy there", name_of(offset), copier)};
}

inline bool SharedMemory::may_read(const Byte& byte, const Accessor& who) const {
  return byte.copier == kNobody && !is_unwritten(byte) && who.comes_after(byte.write);
}

Finding SharedMemory::why_not_read(size_t offset) const {
  const Byte& byte = bytes_[offset];
  if (byte.copier != kNobody) return held(offset);
  if (is_unwritten(byte)) return {FaultKind::kUninitialized, name_of(offset)};
  return {FaultKind::kRace, fmt::format("{}: {} wrote it, with no barrier in between",
                                        name_of(offset), name_of_toucher(byte.write.thread))};
}

inline bool SharedMemory::may_write(const Byte& byte, const Accessor& who, bool is_atomic) const {
  return byte.copier == kNobody &&
         (who.comes_after(byte.write) || (is_atomic && byte.was_atomic)) &&
         (byte.read_barriers != who.at.barriers || !reader_before(byte, who));
}

Finding SharedMemory::why_not_write(size_t offset, const Accessor& who, bool is_atomic) const {
  const Byte& byte = bytes_[offset];
  if (byte.copier != kNobody) return held(offset);
  if (!who.comes_after(byte.write) && !(is_atomic && byte.was_atomic))
    return {FaultKind::kRace, fmt::format("{}: {} wrote it too, with no barrier in between",
                                          name_of(offset), name_of_toucher(byte.write.thread))};
  return {FaultKind::kRace,
          fmt::format("{}: read by others, {} the last, with no barrier in between",
                      name_of(offset), name_of_toucher(*reader_before(byte, who)))};
}

// A thread that has read the byte since the last barrier and whose read does not come before this
// access; empty if there is none.
std::optional<int> SharedMemory::reader_before(const Byte& byte, const Accessor& who) const {
  if (who.known != nullptr) {
    for (const Toucher& reader : read_sets_.of(byte.readers))
      if (!who.comes_after(reader)) return reader.thread;
    return std::nullopt;
  }
  const uint32_t own_warp = 1u << who.at.warp(), own_lane = 1u << who.at.lane();
  const bool other_warps = (byte.reader_warps & ~own_warp) != 0;
  const bool other_lanes = byte.last_reader / 32 == who.at.warp() &&
                           byte.read_time == who.at.time && (byte.reader_lanes & ~own_lane) != 0;
  if (!other_warps && !other_lanes) return std::nullopt;
  return byte.last_reader;
}

void SharedMemory::remember_read_in_set(Byte& byte, const Accessor& who) {
  if (read_sets_since_ != who.at.barriers) {
    read_sets_.clear();
    read_sets_since_ = who.at.barriers;
    most_readers_ = kMostReaders;
  }
  if (read_sets_.readers() > most_readers_) drop_unused_read_sets(who.at.barriers);
  const bool is_first = byte.read_barriers != who.at.barriers;
  byte.readers = read_sets_.with(is_first ? ReadSets::kNone : byte.readers, who);
  byte.read_barriers = who.at.barriers;
}

void SharedMemory::drop_unused_read_sets(uint32_t barriers) {
  ReadSets kept;
  std::unordered_map<uint32_t, uint32_t> numbers;  // new numbers of the sets, by the old ones
  for (size_t i = 0; i < used_; ++i) {
    Byte& byte = bytes_[i];
    if (byte.read_barriers != barriers || byte.readers == ReadSets::kNone) continue;
    const auto [number, is_new] = numbers.try_emplace(byte.readers, ReadSets::kNone);
    if (is_new) number->second = kept.add(read_sets_.of(byte.readers));
    byte.readers = number->second;
  }
  read_sets_ = std::move(kept);
  most_readers_ = kMostReaders + 2 * read_sets_.readers();
}

inline void SharedMemory::remember_read(Byte& byte, const Accessor& who) {
  if (who.known != nullptr) return remember_read_in_set(byte, who);
  const uint32_t warp = 1u << who.at.warp(), lane = 1u << who.at.lane();
  const bool is_first = byte.read_barriers != who.at.barriers;
  const bool same_run =
      !is_first && byte.last_reader / 32 == who.at.warp() && byte.read_time == who.at.time;
  byte.reader_warps = is_first ? warp : byte.reader_warps | warp;
  byte.reader_lanes = same_run ? byte.reader_lanes | lane : lane;
  byte.read_barriers = who.at.barriers;
  byte.read_time = who.at.time;
  byte.last_reader = static_cast<int16_t>(who.at.thread);
  byte.readers = ReadSets::kNone;  // the block has no mbarrier yet
}

inline void SharedMemory::remember_write(Byte& byte, const Toucher& who, bool is_atomic) {
  byte.write = who;
  byte.written_at = ++clock_;
  byte.was_atomic = is_atomic;
}

MaybeFinding SharedMemory::touch(const void* address, size_t bytes, Touch how,
                                 const Accessor& who) {
  if (MaybeFinding finding = check_bounds(address, bytes)) return finding;
  const size_t begin = offset_of(address);
  for (size_t i = begin; i < begin + bytes; ++i) {
    Byte& byte = bytes_[i];
    if (how == Touch::kRead) {
      if (!may_read(byte, who)) return why_not_read(i);
      remember_read(byte, who);
      continue;
    }
    const bool is_atomic = how == Touch::kAtomic;
    if (!may_write(byte, who, is_atomic)) return why_not_write(i, who, is_atomic);
    if (is_atomic && is_unwritten(byte)) return Finding{FaultKind::kUninitialized, name_of(i)};
    remember_write(byte, who.at, is_atomic);
    byte.readers = ReadSets::kNone;  // it comes after them
  }
  return std::nullopt;
}

MaybeFinding SharedMemory::begin_copy(const void* address, size_t bytes, const Accessor& who,
                                      bool by_async_proxy) {
  if (MaybeFinding finding = check_bounds(address, bytes)) return finding;
  const size_t begin = offset_of(address);
  for (size_t i = begin; i < begin + bytes; ++i) {
    Byte& byte = bytes_[i];
    if (!may_write(byte, who, /*is_atomic=*/false))
      return why_not_write(i, who, /*is_atomic=*/false);
    if (by_async_proxy && !is_unwritten(byte))
      if (MaybeFinding finding = check_fence(i, who)) return finding;
    byte.copier = static_cast<int16_t>(who.at.thread);
    byte.readers = ReadSets::kNone;
  }
  return std::nullopt;
}

void SharedMemory::end_copy(const void* address, size_t bytes, const Toucher& who) {
  const size_t begin = offset_of(address);
  for (size_t i = begin; i < begin + bytes; ++i) {
    bytes_[i].copier = kNobody;
    remember_write(bytes_[i], who, /*is_atomic=*/false);
  }
}

void SharedMemory::fence_async_proxy(const Toucher& who) {
  const auto index = static_cast<size_t>(who.thread);
  if (fences_.size() <= index) fences_.resize(index + 1);
  fences_[index].push_back({++clock_, who});
}

// A thread that wrote must have called a fence after it wrote, and the read must be ordered behind
// the first such fence. Boxes are written by the async proxy itself.
MaybeFinding SharedMemory::check_fence(size_t offset, const Accessor& who) const {
  const Byte& byte = bytes_[offset];
  const auto writer = static_cast<size_t>(byte.write.thread);
  if (writer >= threads_) return std::nullopt;
  const auto none = std::vector<Fence>();
  const std::vector<Fence>& fences = writer < fences_.size() ? fences_[writer] : none;
  if (fences.empty() || fences.back().made_at < byte.written_at)
    return Finding{FaultKind::kRace,
                   fmt::format("{}: thread {} wrote it and has not called fence.proxy.async since",
                               name_of(offset), writer)};
  if (who.comes_after(fences.back().by)) return std::nullopt;
  const auto first =
      std::upper_bound(fences.begin(), fences.end(), byte.written_at,
                       [](uint64_t at, const Fence& fence) { return at < fence.made_at; });
  if (who.comes_after(first->by)) return std::nullopt;
  return Finding{FaultKind::kRace,
                 fmt::format("{}: thread {} wrote it and called fence.proxy.async, with no barrier "
                             "between the fence and this",
                             name_of(offset), writer)};
}

MaybeFinding SharedMemory::read_by_async_proxy(uint32_t address, size_t bytes,
                                               const Accessor& started, const Toucher& done) {
  if (MaybeFinding finding = check_bounds(memory() + address, bytes)) return finding;
  for (size_t i = address; i < address + bytes; ++i) {
    Byte& byte = bytes_[i];
    if (!may_read(byte, started)) return why_not_read(i);
    if (MaybeFinding finding = check_fence(i, started)) return finding;
    remember_read(byte, {done, started.known});
  }
  return std::nullopt;
}

MaybeFinding SharedMemory::make_mbarrier(const void* address, const Accessor& who) {
  if (MaybeFinding finding = touch(address, sizeof(uint64_t), Touch::kWrite, who)) return finding;
  const size_t begin = offset_of(address);
  for (size_t i = begin; i < begin + sizeof(uint64_t); ++i) bytes_[i].copier = kMbarrier;
  return std::nullopt;
}

}  // namespace cuda_on_cpu
