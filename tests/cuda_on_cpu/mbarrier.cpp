#include "tests/cuda_on_cpu/mbarrier.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/cuda_on_cpu/block.h"
#include "tests/cuda_on_cpu/buffers.h"
#include "tests/cuda_on_cpu/include/cuda_runtime.h"

namespace cuda_on_cpu {
namespace {

constexpr size_t kBoxBytes = 1024;
constexpr unsigned kMostArrivals = (1u << 20) - 1;  // [PTX ISA, "Contents of the mbarrier object"]

}  // namespace

int Mbarrier::meant_phase(int thread, unsigned parity) const {
  const int last = last_waited[static_cast<size_t>(thread)];
  if (last == kNothing) {
    // Before the first wait, parity 1 means the phase before the first one or the second phase,
    // whichever is nearer.
    if (parity == 1 && phase == 0) return -1;
    return static_cast<int>(parity);
  }
  const unsigned last_parity = static_cast<unsigned>(last + 2) % 2;
  if (last_parity != parity) return last + 1;
  return phase <= last + 1 ? last : last + 2;
}

std::string Mbarrier::text(int awaited_phase) const {
  return fmt::format("phase {} (parity {}) of the mbarrier at {}, {} of {} arrivals{} missing",
                     awaited_phase, (awaited_phase + 2) % 2, name, missing, arrivals,
                     missing_bytes == 0 ? "" : fmt::format(" and {} bytes", missing_bytes));
}

void Block::make_mbarrier(const void* address, unsigned arrivals, const Place& place) {
  const std::string doing = fmt::format("initialises an mbarrier {}", place.text());
  check_mbarrier_address(address, doing);
  if (arrivals == 0 || arrivals > kMostArrivals)
    report(FaultKind::kBarrier, fmt::format("{} with {} arrivals: at least 1, at most {}", doing,
                                            arrivals, kMostArrivals));
  if (const auto found = mbarriers_.find(address); found != mbarriers_.end())
    report(FaultKind::kBarrier,
           fmt::format("{} at {}, where there is one since thread {} "
                       "initialised it",
                       doing, found->second.name, found->second.made_by.thread));
  if (!clocks_.are_kept()) clocks_.start(threads_.size(), warp_syncs_);
  const Accessor who = accessor(thread().number);
  report_if(shared_.make_mbarrier(address, who), doing);
  Mbarrier& made = mbarriers_[address];
  made.name = shared_.name_of(address);
  made.made_by = who.at;
  made.arrivals = made.missing = arrivals;
  made.gathered.assign(who.known->size(), 0);
  made.last_waited.assign(threads_.size(), Mbarrier::kNothing);
}

void Block::check_mbarrier_address(const void* address, const std::string& doing) {
  if (!shared_.contains(address))
    report(FaultKind::kOutOfBounds, doing + ", which is not in shared memory");
  if (reinterpret_cast<uintptr_t>(address) % sizeof(uint64_t) != 0)
    report(FaultKind::kUnaligned, doing + ", at an address that is no multiple of 8");
}

Mbarrier& Block::mbarrier_at(const void* address, const char* doing, const Place& place) {
  const auto found = mbarriers_.find(address);
  if (found == mbarriers_.end()) {
    const std::string text = fmt::format("{} an mbarrier {}", doing, place.text());
    check_mbarrier_address(address, text);
    report(FaultKind::kBarrier,
           fmt::format("{}: none is initialised at {}", text, shared_.name_of(address)));
  }
  Mbarrier& barrier = found->second;
  if (!accessor(thread().number).comes_after(barrier.made_by))
    report(
        FaultKind::kRace,
        fmt::format("{} an mbarrier {}: {}, thread {} initialised it, with no barrier in between",
                    doing, place.text(), barrier.name, barrier.made_by.thread));
  return barrier;
}

void Block::arrive(const void* address, unsigned expected_bytes, const Place& place) {
  maybe_pause();
  Mbarrier& barrier = mbarrier_at(address, "arrives at", place);
  if (barrier.missing == 0)
    report(FaultKind::kBarrier,
           fmt::format("arrives {} at the mbarrier at {}, whose phase {} has "
                       "all {} arrivals and waits for bytes",
                       place.text(), barrier.name, barrier.phase, barrier.arrivals));
  clocks_.release(static_cast<size_t>(thread().number), barrier.gathered);
  barrier.missing_bytes += expected_bytes;
  --barrier.missing;
  complete_phase_if_due(barrier, place);
}

void Block::complete_phase_if_due(Mbarrier& barrier, const Place& place) {
  if (barrier.missing > 0) return;
  if (barrier.missing_bytes < 0)
    report(FaultKind::kBarrier,
           fmt::format("{}: {} bytes more are copied for phase {} of the mbarrier at {} than it "
                       "expects",
                       place.text(), -barrier.missing_bytes, barrier.phase, barrier.name));
  if (barrier.missing_bytes == 0) complete_phase(barrier, place);
}

// Boxes arrive as late as they can.
void Block::finish_boxes(Mbarrier& barrier) {
  if (barrier.boxes.empty()) return;
  const Toucher writer{.thread = static_cast<int>(*barrier.copies),
                       .barriers = accessor(thread().number).at.barriers,
                       .time = clocks_.time(*barrier.copies)};
  for (const BoxCopy& box : barrier.boxes) {
    for (size_t chunk = 0; chunk < kBoxBytes / 16; ++chunk) {
      const size_t row = chunk / 8, place = (chunk % 8) ^ row;
      std::memcpy(box.to + row * 128 + place * 16,
                  box.from + static_cast<int64_t>(row) * box.row_bytes + chunk % 8 * 16, 16);
    }
    shared_.end_copy(box.to, kBoxBytes, writer);
  }
  barrier.boxes.clear();
  clocks_.finish_boxes(*barrier.copies, barrier.gathered);
}

// Checks the copy and leaves it in the mbarrier.
void Block::copy_box(void* to, const MappedRows& map, int column, int row, const void* address,
                     const Place& place) {
  maybe_pause();
  const std::string doing = fmt::format("copies the box at row {}, column {} of a tensor map {}",
                                        row, column, place.text());
  Mbarrier& barrier = mbarrier_at(address, "copies a box for", place);
  if (!shared_.contains(to))
    report(FaultKind::kOutOfBounds, doing + " to where is no shared memory");
  if (shared_.address_of(to) % kBoxBytes != 0)
    report(FaultKind::kUnaligned,
           fmt::format("{} to {}, which is no multiple of 1024", doing, shared_.name_of(to)));
  if (column < 0 || column % 64 != 0 || 2 * column >= map.row_bytes)
    report(FaultKind::kOutOfBounds, doing + ": no panel of 64 columns begins there");
  const Accessor who = accessor(thread().number);
  const std::byte* const from = map.rows + row * map.row_bytes + 2 * int64_t{column};
  for (int64_t i = 0; i < 8; ++i)
    if (const MaybeFinding finding =
            Buffers::all().touch(from + i * map.row_bytes, 128, Touch::kRead, who, since()))
      report_if(finding, doing);
  if (const MaybeFinding finding = shared_.begin_copy(to, kBoxBytes, who, /*by_async_proxy=*/true))
    report_if(finding, doing);
  if (!barrier.copies) barrier.copies = clocks_.add_box_barrier();
  barrier.boxes.push_back({static_cast<std::byte*>(to), from, map.row_bytes});
  barrier.missing_bytes -= static_cast<int64_t>(kBoxBytes);
  complete_phase_if_due(barrier, place);
}

void Block::complete_phase(Mbarrier& barrier, const Place& place) {
  if (!barrier.not_yet_back.empty())
    report(FaultKind::kBarrier,
           fmt::format("completes phase {} of the mbarrier at {} {}, and thread {} may still wait "
                       "for phase {}, which it can no longer tell from a later one: it was not "
                       "waited for",
                       barrier.phase, barrier.name, place.text(), barrier.not_yet_back[0],
                       barrier.phase - 1));
  finish_boxes(barrier);
  std::swap(barrier.completed, barrier.gathered);
  barrier.gathered.assign(barrier.completed.size(), 0);
  barrier.missing = barrier.arrivals;
  ++barrier.phase;
  for (const int number : barrier.waiting) {
    const auto index = static_cast<size_t>(number);
    threads_[index].state = Thread::State::kReady;
    clocks_.acquire(index, barrier.completed);
  }
  std::swap(barrier.not_yet_back, barrier.waiting);  // which leaves nobody waiting
}

void Block::await(const void* address, unsigned parity, const Place& place) {
  maybe_pause();
  Mbarrier& barrier = mbarrier_at(address, "waits at", place);
  if (parity > 1)
    report(FaultKind::kBarrier, fmt::format("waits at an mbarrier {} for parity {}: it is 0 or 1",
                                            place.text(), parity));
  Thread& self = thread();
  const int meant = barrier.meant_phase(self.number, parity);
  if (barrier.phase > meant + 1)
    report(FaultKind::kBarrier,
           fmt::format("waits {} for phase {} (parity {}) of the mbarrier at {} after phase {} was "
                       "complete: it takes one for the other, or waits for a phase too many",
                       place.text(), meant, parity, barrier.name, barrier.phase - 1));
  barrier.last_waited[static_cast<size_t>(self.number)] = meant;
  if (barrier.is_complete(parity)) {
    if (barrier.phase > 0) clocks_.acquire(static_cast<size_t>(self.number), barrier.completed);
    return;
  }
  barrier.waiting.push_back(self.number);
  self.awaited = &barrier;
  self.awaited_phase = barrier.phase;
  wait("", place);
  self.awaited = nullptr;
  std::erase(barrier.not_yet_back, self.number);
}

void barrier_init(const void* barrier, unsigned arrivals) {
  const InEmulator in_emulator;
  Block::running()->make_mbarrier(barrier, arrivals, {.code = __builtin_return_address(0)});
}

void barrier_arrive(const void* barrier) {
  const InEmulator in_emulator;
  Block::running()->arrive(barrier, 0, {.code = __builtin_return_address(0)});
}

void barrier_arrive_expecting(const void* barrier, unsigned bytes) {
  const InEmulator in_emulator;
  Block::running()->arrive(barrier, bytes, {.code = __builtin_return_address(0)});
}

void copy_box_async(void* shared, const void* map, int column, int row, const void* barrier) {
  const InEmulator in_emulator;
  Block& block = *Block::running();
  const Place place{.code = __builtin_return_address(0)};
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0)
    block.report(
        FaultKind::kUnaligned,
        fmt::format("uses the tensor map at {} {}, which is no multiple of 64", map, place.text()));
  block.copy_box(shared, *static_cast<const MappedRows*>(map), column, row, barrier, place);
}

void barrier_wait(const void* barrier, unsigned parity) {
  const InEmulator in_emulator;
  Block::running()->await(barrier, parity, {.code = __builtin_return_address(0)});
}

}  // namespace cuda_on_cpu
