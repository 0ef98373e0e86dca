#include "tests/cuda_on_cpu/clocks.h"

#include <algorithm>

#include "core/base/error.h"

namespace cuda_on_cpu {

void join(Clock& clock, const Clock& other) {
  if (clock.size() < other.size()) clock.resize(other.size(), 0);
  for (size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

void Clocks::start(size_t threads, std::span<const uint32_t> warp_syncs) {
  threads_ = threads;
  warps_ = warp_syncs.size();
  box_barriers_ = 0;
  times_.assign(threads_ + warps_ + kMostBoxBarriers, 0);
  known_.resize(threads);
  for (size_t warp = 0; warp < warp_syncs.size(); ++warp) {
    const size_t begin = 32 * warp, end = std::min(begin + 32, threads);
    const auto of_warp = std::make_shared<Clock>(times_.size(), 0);
    for (size_t thread = begin; thread < end; ++thread) {
      times_[thread] = (*of_warp)[thread] = warp_syncs[warp];
      known_[thread] = of_warp;
    }
  }
}

Clock Clocks::known_to_all(std::span<const std::shared_ptr<const Clock>> lanes) {
  Clock all = *lanes[0];
  for (const std::shared_ptr<const Clock>& lane : lanes.subspan(1)) {
    if (lane == lanes[0]) continue;
    for (size_t i = 0; i < all.size(); ++i) all[i] = std::min(all[i], (*lane)[i]);
  }
  return all;
}

Clock& Clocks::own(size_t thread) {
  std::shared_ptr<Clock>& clock = known_[thread];
  if (clock.use_count() > 1) clock = std::make_shared<Clock>(*clock);
  return *clock;
}

void Clocks::release(size_t thread, Clock& to) {
  join(to, *known_[thread]);
  to[thread] = ++times_[thread];
}

void Clocks::acquire(size_t thread, const Clock& from) { join(own(thread), from); }

void Clocks::sync_lanes(size_t warp, uint32_t lanes) {
  const auto all = std::make_shared<Clock>();
  const size_t begin = 32 * warp, end = std::min(begin + 32, threads_);
  const auto takes_part = [&](size_t thread) { return (lanes >> (thread - begin) & 1u) != 0; };
  const Clock* last = nullptr;  // lanes often share one
  for (size_t thread = begin; thread < end; ++thread) {
    if (!takes_part(thread)) continue;
    if (known_[thread].get() != last) join(*all, *known_[thread]);
    last = known_[thread].get();
  }
  for (size_t thread = begin; thread < end; ++thread) {
    if (!takes_part(thread)) continue;
    (*all)[thread] = ++times_[thread];
    known_[thread] = all;
  }
}

size_t Clocks::add_box_barrier() {
  REPRISE_CHECK(box_barriers_ < kMostBoxBarriers, "boxes are copied for more than {} mbarriers",
                kMostBoxBarriers);
  return threads_ + warps_ + box_barriers_++;
}

void Clocks::finish_wgmma(size_t warp) {
  const size_t wgmma = wgmma_of(warp);
  ++times_[wgmma];
  for (size_t thread = 32 * warp; thread < std::min(32 * warp + 32, threads_); ++thread)
    own(thread)[wgmma] = times_[wgmma];
}

}  // namespace cuda_on_cpu
