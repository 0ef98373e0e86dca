#include "tests/cuda_on_cpu/mbarrier.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "tests/cuda_on_cpu/block.h"
#include "tests/cuda_on_cpu/include/cuda_runtime.h"

namespace cuda_on_cpu {
namespace {

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
  return fmt::format("phase {} (parity {}) of the mbarrier at {}, {} of {} arrivals missing",
                     awaited_phase, (awaited_phase + 2) % 2, name, missing, arrivals);
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

void Block::arrive(const void* address, const Place& place) {
  maybe_pause();
  Mbarrier& barrier = mbarrier_at(address, "arrives at", place);
  clocks_.release(static_cast<size_t>(thread().number), barrier.gathered);
  if (--barrier.missing > 0) return;
  complete_phase(barrier, place);
}

void Block::complete_phase(Mbarrier& barrier, const Place& place) {
  if (!barrier.not_yet_back.empty())
    report(FaultKind::kBarrier,
           fmt::format("completes phase {} of the mbarrier at {} {}, and thread {} may still wait "
                       "for phase {}, which it can no longer tell from a later one: it was not "
                       "waited for",
                       barrier.phase, barrier.name, place.text(), barrier.not_yet_back[0],
                       barrier.phase - 1));
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
  Block::running()->arrive(barrier, {.code = __builtin_return_address(0)});
}

void barrier_wait(const void* barrier, unsigned parity) {
  const InEmulator in_emulator;
  Block::running()->await(barrier, parity, {.code = __builtin_return_address(0)});
}

}  // namespace cuda_on_cpu
