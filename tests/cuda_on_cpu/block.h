// The block that runs: its threads, which are fibers, where they wait for each other, and its
// memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "tests/cuda_on_cpu/block_order.h"
#include "tests/cuda_on_cpu/buffers.h"
#include "tests/cuda_on_cpu/clocks.h"
#include "tests/cuda_on_cpu/fiber.h"
#include "tests/cuda_on_cpu/include/cuda_on_cpu.h"
#include "tests/cuda_on_cpu/mbarrier.h"
#include "tests/cuda_on_cpu/shared_memory.h"

namespace cuda_on_cpu {

// Tells the emulator that all launches so far have ended, as after a copy or a wait of the host.
// Without this call, a launch that begins early may run beside the earlier ones.
void finish_launches();

// One cp.async that is not yet waited for.
struct AsyncCopy {
  void* to;
  const void* from;
  size_t bytes, source_bytes;
};

// A wgmma that is not yet waited for.
struct StartedProduct {
  WarpgroupProduct product;
  Toucher at;                          // when it was started
  std::shared_ptr<const Clock> known;  // what the thread knew then; null without mbarriers
};

// A thread's place in the program, formatted only for a report.
struct Place {
  std::source_location where{};
  const void* code = nullptr;  // instead of `where`: an address behind the call

  // "at FILE:LINE", or how to find the line of `code`.
  [[nodiscard]] std::string text() const;
};

struct Thread {
  enum class State : uint8_t { kReady, kWaiting, kDone };

  int number = 0;
  uint3 index;
  Fiber fiber;
  State state = State::kDone;
  const char* waits_for = "";  // for reports
  Place waits_at;
  const Mbarrier* awaited = nullptr;  // the mbarrier at which it waits, in place of `waits_for`
  int awaited_phase = 0;
  bool in_emulator = false;                        // its accesses are the emulator's own
  bool has_awaited_kernels = false;                // kernels launched before this one
  std::vector<AsyncCopy> open_copies;              // since the last commit
  std::deque<std::vector<AsyncCopy>> copy_groups;  // oldest first
  bool in_warpgroup = false;  // between warpgroup_begin() and waiting for all products
  std::vector<StartedProduct> open_products;               // since the last commit
  std::deque<std::vector<StartedProduct>> product_groups;  // oldest first

  [[nodiscard]] int warp() const { return number / 32; }
  [[nodiscard]] int lane() const { return number % 32; }
  [[nodiscard]] uint32_t lane_bit() const { return 1u << lane(); }
};

// An operation that the lanes of a warp do together. Each lane passes the address of its operands,
// and the lane that arrives last computes for all.
struct Together {
  const char* name = "";    // lanes that meet must do operations with the same name
  bool is_aligned = false;  // if true, all 32 lanes must meet, and at the same place
  Place place;
  uint32_t mask = 0;
  // Called once, with the operands of the lanes in `lanes`; the pointers of other lanes are null.
  void (*compute)(std::span<void* const, 32> operands, uint32_t lanes) = nullptr;
};

// One object for a launch: it runs the blocks one after the other.
class Block {
 public:
  Block(const Launch& launch, void* parameters, size_t parameter_bytes,
        void (*call)(void* parameters));

  // The block that runs; null outside launches.
  static Block* running();

  // Throws Fault.
  void run(uint3 index, Order order);
  // Seeds the random order of threads.
  void draw_from(uint64_t seed) { random_.seed(seed); }

  // ---- From within a thread ----

  [[nodiscard]] Thread& thread() { return *current_; }
  [[nodiscard]] const Thread& thread() const { return *current_; }
  // True if a thread runs the kernel's own code now.
  [[nodiscard]] bool is_in_kernel() const { return current_ != nullptr && !current_->in_emulator; }
  [[nodiscard]] Accessor accessor(int thread_number) const;
  // The Toucher of a read that the wgmma of the thread's warp makes now.
  [[nodiscard]] Toucher wgmma_reader() const;
  [[nodiscard]] const Clocks& clocks() const { return clocks_; }
  // The Since for accesses of the thread that runs.
  [[nodiscard]] Since since() const;
  // True if kernels before this one may still run, as far as the thread knows.
  [[nodiscard]] bool must_await_kernels() const;
  void await_kernels();
  // True if kernels before this one may still run when all threads have returned.
  [[nodiscard]] bool may_end_first() const { return launch_.begins_early && !has_awaited_; }
  SharedMemory& shared() { return shared_; }
  BlockOrder& blocks() { return blocks_; }
  // A __threadfence() of the thread that runs.
  void fence();
  [[nodiscard]] bool is_parameter(const void* address, size_t bytes) const;
  [[nodiscard]] bool is_own_stack(const void* address, size_t bytes) const;
  [[nodiscard]] bool is_any_stack(const void* address) const;

  // Ends the launch with a Fault. The thread does not go on.
  [[noreturn]] void report(FaultKind kind, const std::string& text);
  void report_if(const MaybeFinding& finding, const std::string& doing);

  void barrier(const std::source_location& where);
  // Returns when all lanes of the mask, except those that have returned from the kernel, have
  // arrived and compute() has run.
  void meet(const Together& together, void* operands);
  // Records that the lanes of the thread's warp have met in __syncwarp(): the accesses of each lane
  // before it come before the accesses of the others after it.
  void order_warp();
  // Records that all lanes of the thread's warp have waited for the wgmma that was computed last.
  void finish_wgmma();
  [[nodiscard]] uint32_t lanes_left(int warp) const;

  // ---- mbarriers, see ptx.cuh ----

  void make_mbarrier(const void* address, unsigned arrivals, const Place& place);
  void arrive(const void* address, unsigned expected_bytes, const Place& place);
  void copy_box(void* to, const MappedRows& map, int column, int row, const void* address,
                const Place& place);
  void await(const void* address, unsigned parity, const Place& place);
  // In a random order of threads, may let other threads go first.
  void maybe_pause();

 private:
  struct Meeting {
    Together together;
    uint32_t arrived = 0;
    std::array<void*, 32> operands{};
  };

  static void enter_thread();
  void wait(const char* what, const Place& place);
  void finish_thread();
  void check_mask(const Together& together, uint32_t left);
  size_t meeting_for(const Together& together);
  void finish_meeting(size_t warp, size_t index);
  [[nodiscard]] bool resume_ready();
  [[nodiscard]] bool resume_drawn();
  void check_mbarrier_address(const void* address, const std::string& doing);
  Mbarrier& mbarrier_at(const void* address, const char* doing, const Place& place);
  void complete_phase_if_due(Mbarrier& barrier, const Place& place);
  void complete_phase(Mbarrier& barrier, const Place& place);
  void finish_boxes(Mbarrier& barrier);
  void resume(Thread& thread);
  [[nodiscard]] std::string waiting_threads() const;
  [[nodiscard]] int count(Thread::State state) const;

  Launch launch_;
  void* parameters_;
  size_t parameter_bytes_;
  void (*call_)(void*);
  uint3 index_;
  Order order_ = Order::kForward;
  std::mt19937_64 random_;
  int drawn_warp_ = 0, turns_left_ = 0;  // of the warp that goes first in a random order
  Since since_;
  bool has_awaited_ = false;  // by any thread of the launch
  std::vector<Thread> threads_;
  std::span<std::byte> stacks_;
  SharedMemory& shared_;
  Thread* current_ = nullptr;
  std::vector<uint32_t> warp_syncs_;  // [warps]
  Clocks clocks_;
  BlockOrder blocks_;
  std::map<const void*, Mbarrier> mbarriers_;   // by their address
  std::vector<std::vector<Meeting>> meetings_;  // [warps]  not yet complete
  size_t at_barrier_ = 0;  // threads that wait at __syncthreads(), all at barrier_where_
  std::source_location barrier_where_;
  std::optional<Fault> fault_;
};

// While this lives, the thread's accesses are the emulator's own and are not checked.
class InEmulator {
 public:
  InEmulator() : thread_(Block::running()->thread()) { thread_.in_emulator = true; }
  ~InEmulator() { thread_.in_emulator = false; }
  InEmulator(const InEmulator&) = delete;
  InEmulator& operator=(const InEmulator&) = delete;

 private:
  Thread& thread_;
};

}  // namespace cuda_on_cpu
