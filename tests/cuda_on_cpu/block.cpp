#include "tests/cuda_on_cpu/block.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "tests/cuda_on_cpu/include/cuda_runtime.h"

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace cuda_on_cpu {
namespace {

constexpr size_t kStackBytes = 128 << 10;
constexpr size_t kMostThreads = 1024;

Block* running_block = nullptr;
uint32_t barriers_so_far = 0;  // counts over all blocks, so that shared memory need not be cleared
uint32_t unfinished = 1;  // barriers_so_far at the start of the first launch that may still run

// A stack for each thread of a block; all blocks use the same stacks. The system provides pages
// when they are first touched.
std::span<std::byte> all_stacks() {
  static std::byte* const stacks = [] {
    void* memory = mmap(nullptr, kStackBytes * kMostThreads, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REPRISE_CHECK(memory != MAP_FAILED, "no memory for the stacks of {} threads", kMostThreads);
    return static_cast<std::byte*>(memory);
  }();
  return {stacks, kStackBytes * kMostThreads};
}

SharedMemory& shared_memory() {
  static SharedMemory memory;
  return memory;
}

std::string text_of(uint3 index) { return fmt::format("({}, {}, {})", index.x, index.y, index.z); }

bool is_same_place(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         std::strcmp(a.file_name(), b.file_name()) == 0;
}

bool lies_in(const void* address, size_t bytes, const void* begin, size_t size) {
  const auto at = reinterpret_cast<uintptr_t>(address), from = reinterpret_cast<uintptr_t>(begin);
  return at >= from && at + bytes <= from + size;
}

}  // namespace

void finish_launches() { unfinished = barriers_so_far + 1; }

// The library's kernel begins when the launches before it have ended. It may still run when the
// next launch begins.
void library_wrote(const void* to, size_t bytes) {
  finish_launches();
  Buffers::all().write(to, bytes, ++barriers_so_far);
}

std::string Place::text() const {
  if (code == nullptr) return fmt::format("at {}:{}", where.file_name(), where.line());
  Dl_info info{};
  if (dladdr(code, &info) == 0) return fmt::format("at {}", code);
  const auto offset =
      reinterpret_cast<uintptr_t>(code) - reinterpret_cast<uintptr_t>(info.dli_fbase);
  return fmt::format("(line: addr2line -Cfie {} {:#x})", info.dli_fname, offset - 1);
}

Block::Block(const Launch& launch, void* parameters, size_t parameter_bytes, void (*call)(void*))
    : launch_(launch),
      parameters_(parameters),
      parameter_bytes_(parameter_bytes),
      call_(call),
      threads_(size_t{launch.block.x} * launch.block.y * launch.block.z),
      stacks_(all_stacks()),
      shared_(shared_memory()),
      warp_syncs_((threads_.size() + 31) / 32),
      meetings_(warp_syncs_.size()) {
  if (!launch.begins_early) finish_launches();
  since_ = {.launch = barriers_so_far + 1, .unfinished = unfinished};
}

Block* Block::running() { return running_block; }

void Block::run(uint3 index, Order order) {
  REPRISE_CHECK(running_block == nullptr, "a kernel is running already");
  index_ = index;
  order_ = order;
  turns_left_ = 0;
  clocks_.stop();
  blocks_.start_block(threads_.size());
  mbarriers_.clear();
  ::blockIdx = index;
  ::blockDim = launch_.block;
  ::gridDim = launch_.grid;
  since_.block = ++barriers_so_far;
  shared_.start_block(launch_.shared_bytes, threads_.size(), barriers_so_far);
  for (size_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    const auto number = static_cast<unsigned>(i);
    thread.number = static_cast<int>(i);
    thread.index = {number % launch_.block.x, number / launch_.block.x % launch_.block.y,
                    number / launch_.block.x / launch_.block.y};
    thread.state = Thread::State::kReady;
    thread.in_emulator = false;
    thread.has_awaited_kernels = false;
    thread.awaited = nullptr;
    thread.open_copies.clear();
    thread.copy_groups.clear();
    thread.in_warpgroup = false;
    thread.open_products.clear();
    thread.product_groups.clear();
    thread.fiber.prepare(stacks_.data() + i * kStackBytes, kStackBytes, enter_thread);
  }
  running_block = this;
  while (!fault_ && count(Thread::State::kDone) < static_cast<int>(threads_.size()))
    if (!(order == Order::kRandom ? resume_drawn() : resume_ready()))
      fault_ = Fault(FaultKind::kDeadlock,
                     fmt::format("{}: kernel {}, block {}: every thread that is left waits: {}",
                                 name_of(FaultKind::kDeadlock), launch_.name, text_of(index_),
                                 waiting_threads()));
  running_block = nullptr;
  for (const auto& [address, barrier] : mbarriers_)
    if (!fault_ && !barrier.boxes.empty())
      fault_ = Fault(FaultKind::kInFlight,
                     fmt::format("{}: kernel {}, block {} has ended while {} boxes are copied for "
                                 "the mbarrier at {}",
                                 name_of(FaultKind::kInFlight), launch_.name, text_of(index_),
                                 barrier.boxes.size(), barrier.name));
  if (fault_) throw *std::exchange(fault_, std::nullopt);
}

bool Block::resume_ready() {
  bool any = false;
  for (size_t i = 0; i < threads_.size() && !fault_; ++i) {
    Thread& thread = threads_[order_ == Order::kForward ? i : threads_.size() - 1 - i];
    if (thread.state != Thread::State::kReady) continue;
    any = true;
    resume(thread);
  }
  return any;
}

// Resumes one thread. A random warp goes on alone for a random number of turns, as long as it can,
// so that warps are sometimes far apart.
bool Block::resume_drawn() {
  constexpr uint64_t kMostTurns = 256;
  std::vector<Thread*> ready, of_warp;
  for (Thread& thread : threads_) {
    if (thread.state != Thread::State::kReady) continue;
    ready.push_back(&thread);
    if (thread.warp() == drawn_warp_) of_warp.push_back(&thread);
  }
  if (ready.empty()) return false;
  if (turns_left_-- > 0 && !of_warp.empty()) {
    resume(*of_warp[random_() % of_warp.size()]);
    return true;
  }
  Thread& drawn = *ready[random_() % ready.size()];
  drawn_warp_ = drawn.warp();
  turns_left_ = static_cast<int>(random_() % kMostTurns);
  resume(drawn);
  return true;
}

void Block::maybe_pause() {
  if (order_ == Order::kRandom && random_() % 4 == 0) thread().fiber.leave();
}

void Block::resume(Thread& thread) {
  current_ = &thread;
  ::threadIdx = thread.index;
  thread.fiber.resume();
  current_ = nullptr;
}

void Block::enter_thread() {
  Block& block = *running_block;
  block.call_(block.parameters_);
  block.finish_thread();
}

void Block::finish_thread() {
  Thread& self = thread();
  self.in_emulator = true;
  if (at_barrier_ > 0)
    report(FaultKind::kBarrier, fmt::format("returns while others wait for all threads at the "
                                            "__syncthreads() {}",
                                            Place{barrier_where_}.text()));
  self.state = Thread::State::kDone;
  auto& meetings = meetings_[static_cast<size_t>(self.warp())];
  for (size_t i = meetings.size(); i-- > 0;) {
    const Meeting& meeting = meetings[i];
    if ((meeting.together.mask & self.lane_bit()) == 0) continue;
    if (meeting.together.is_aligned)
      report(FaultKind::kWarp, fmt::format("returns while lanes of its warp wait for it in {} {}",
                                           meeting.together.name, meeting.together.place.text()));
    if (meeting.arrived == (meeting.together.mask & lanes_left(self.warp())))
      finish_meeting(static_cast<size_t>(self.warp()), i);
  }
  self.fiber.leave();
}

int Block::count(Thread::State state) const {
  return static_cast<int>(std::count_if(threads_.begin(), threads_.end(),
                                        [&](const Thread& t) { return t.state == state; }));
}

std::string Block::waiting_threads() const {
  constexpr size_t kMost = 4;
  const auto waits_alike = [](const Thread& a, const Thread& b) {
    return a.awaited == b.awaited && std::strcmp(a.waits_for, b.waits_for) == 0;
  };
  // One thread for each thing that threads wait for, then the other threads.
  std::vector<const Thread*> waiting;
  size_t kinds = 0;
  for (const Thread& thread : threads_) {
    if (thread.state != Thread::State::kWaiting) continue;
    const bool is_new =
        std::none_of(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(kinds),
                     [&](const Thread* other) { return waits_alike(thread, *other); });
    waiting.insert(is_new ? waiting.begin() + static_cast<std::ptrdiff_t>(kinds) : waiting.end(),
                   &thread);
    kinds += is_new ? 1 : 0;
  }
  std::string text;
  const size_t told = std::min(std::max(kMost, kinds), waiting.size());
  for (size_t i = 0; i < told; ++i) {
    const Thread& thread = *waiting[i];
    text += fmt::format(
        "{}thread {} for {} {}", i == 0 ? "" : ", ", text_of(thread.index),
        thread.awaited == nullptr ? thread.waits_for : thread.awaited->text(thread.awaited_phase),
        thread.waits_at.text());
  }
  return told < waiting.size() ? fmt::format("{} and {} more", text, waiting.size() - told) : text;
}

Accessor Block::accessor(int thread_number) const {
  const auto thread = static_cast<size_t>(thread_number);
  Accessor who{.at = {.thread = thread_number, .barriers = barriers_so_far}};
  if (clocks_.are_kept()) {
    who.at.time = clocks_.time(thread);
    who.known = clocks_.known(thread).get();
  } else {
    who.at.time = warp_syncs_[thread / 32];
  }
  return who;
}

Toucher Block::wgmma_reader() const {
  const auto warp = static_cast<size_t>(current_->warp());
  if (!clocks_.are_kept()) return accessor(static_cast<int>(32 * warp)).at;
  const size_t wgmma = clocks_.wgmma_of(warp);
  return {
      .thread = static_cast<int>(wgmma), .barriers = barriers_so_far, .time = clocks_.time(wgmma)};
}

void Block::finish_wgmma() {
  if (clocks_.are_kept()) clocks_.finish_wgmma(static_cast<size_t>(thread().warp()));
}

void Block::order_warp() {
  const auto warp = static_cast<size_t>(thread().warp());
  ++warp_syncs_[warp];
  if (clocks_.are_kept()) clocks_.sync_lanes(warp, lanes_left(thread().warp()));
}

void Block::fence() {
  const Accessor who = accessor(current_->number);
  blocks_.fence(who,
                who.known == nullptr ? nullptr : clocks_.known(static_cast<size_t>(who.at.thread)),
                since_.block);
}

Since Block::since() const {
  Since since = since_;
  since.blocks = &blocks_;
  if (!must_await_kernels()) since.unfinished = since.launch;
  return since;
}

bool Block::must_await_kernels() const {
  return launch_.begins_early && !current_->has_awaited_kernels;
}

void Block::await_kernels() {
  current_->has_awaited_kernels = true;
  has_awaited_ = true;
}

bool Block::is_parameter(const void* address, size_t bytes) const {
  return lies_in(address, bytes, parameters_, parameter_bytes_);
}

bool Block::is_own_stack(const void* address, size_t bytes) const {
  return lies_in(address, bytes,
                 stacks_.data() + static_cast<size_t>(current_->number) * kStackBytes, kStackBytes);
}

bool Block::is_any_stack(const void* address) const {
  return lies_in(address, 1, stacks_.data(), stacks_.size());
}

void Block::report(FaultKind kind, const std::string& text) {
  Thread& self = thread();
  self.in_emulator = true;
  fault_ = Fault(kind, fmt::format("{}: kernel {}, block {}, thread {}: {}", name_of(kind),
                                   launch_.name, text_of(index_), text_of(self.index), text));
  self.fiber.leave();
  std::abort();  // nobody resumes it
}

void Block::report_if(const MaybeFinding& finding, const std::string& doing) {
  if (finding) report(finding->kind, fmt::format("{}, {}", doing, finding->text));
}

void Block::wait(const char* what, const Place& place) {
  Thread& self = thread();
  self.waits_for = what;
  self.waits_at = place;
  self.state = Thread::State::kWaiting;
  self.fiber.leave();
}

void Block::barrier(const std::source_location& where) {
  if (at_barrier_ > 0 && !is_same_place(barrier_where_, where))
    report(FaultKind::kBarrier, fmt::format("comes to the __syncthreads() {} while others wait at "
                                            "the one {}",
                                            Place{where}.text(), Place{barrier_where_}.text()));
  if (const int done = count(Thread::State::kDone); done > 0)
    report(FaultKind::kBarrier,
           fmt::format("comes to the __syncthreads() {}, which {} threads of the block can no "
                       "longer reach: they have returned",
                       Place{where}.text(), done));
  barrier_where_ = where;
  if (++at_barrier_ < threads_.size()) return wait("the __syncthreads()", {where});
  at_barrier_ = 0;
  ++barriers_so_far;
  for (Thread& thread : threads_) thread.state = Thread::State::kReady;
}

uint32_t Block::lanes_left(int warp) const {
  uint32_t lanes = 0;
  const auto first = static_cast<size_t>(warp) * 32;
  for (size_t i = first; i < std::min(first + 32, threads_.size()); ++i)
    if (threads_[i].state != Thread::State::kDone) lanes |= threads_[i].lane_bit();
  return lanes;
}

void Block::meet(const Together& together, void* operands) {
  const auto warp = static_cast<size_t>(thread().warp());
  const auto lane = static_cast<size_t>(thread().lane());
  const uint32_t left = lanes_left(thread().warp());
  check_mask(together, left);
  const size_t index = meeting_for(together);
  Meeting& meeting = meetings_[warp][index];
  meeting.arrived |= thread().lane_bit();
  meeting.operands[lane] = operands;
  if (meeting.arrived == (together.mask & left)) return finish_meeting(warp, index);
  wait(together.name, together.place);
}

void Block::check_mask(const Together& together, uint32_t left) {
  if ((together.mask & thread().lane_bit()) == 0)
    report(FaultKind::kWarp, fmt::format("is not in the mask {:#010x} of its own {} {}",
                                         together.mask, together.name, together.place.text()));
  if (together.is_aligned && left != 0xffffffffu)
    report(FaultKind::kWarp,
           fmt::format("{} {} takes all lanes of the warp, and only {:#010x} are left",
                       together.name, together.place.text(), left));
}

// The index of the meeting of the thread's warp that waits for this thread, or of a new meeting.
size_t Block::meeting_for(const Together& together) {
  auto& meetings = meetings_[static_cast<size_t>(thread().warp())];
  for (size_t index = 0; index < meetings.size(); ++index) {
    const Together& other = meetings[index].together;
    if ((other.mask & together.mask) == 0) continue;
    if (other.mask == together.mask && std::strcmp(other.name, together.name) == 0 &&
        (!together.is_aligned || other.place.code == together.place.code))
      return index;
    report(FaultKind::kWarp,
           fmt::format("does {} {} with mask {:#010x} while lanes of its warp wait in {} {} with "
                       "mask {:#010x}",
                       together.name, together.place.text(), together.mask, other.name,
                       other.place.text(), other.mask));
  }
  meetings.push_back({.together = together});
  return meetings.size() - 1;
}

void Block::finish_meeting(size_t warp, size_t index) {
  const Meeting meeting = meetings_[warp][index];
  meetings_[warp].erase(meetings_[warp].begin() + static_cast<std::ptrdiff_t>(index));
  meeting.together.compute(meeting.operands, meeting.arrived);
  for (size_t lane = 0; lane < 32; ++lane)
    if (meeting.arrived >> lane & 1u) threads_[warp * 32 + lane].state = Thread::State::kReady;
}

}  // namespace cuda_on_cpu
