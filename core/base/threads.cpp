#include "core/base/threads.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/start_thread.h"

namespace reprise {
namespace {

thread_local bool t_inside_parallel = false;

// How long a waiting thread polls before it sleeps in a futex. Waking a sleeping thread takes 10 us
// or more in a virtual machine. So waiting threads poll through the gaps between the calls of one
// model step, but occupy a core no longer than this.
constexpr std::chrono::microseconds kSpinTime{100};

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Polls until is_over() is true or kSpinTime has passed. Returns is_over().
template <typename Predicate>
bool spin_until(Predicate&& is_over) {
  // Number of polls between two readings of the clock. A reading takes as long as a few polls.
  constexpr int kPollsPerClock = 32;
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int poll = 0; poll < kPollsPerClock; ++poll) {
      if (is_over()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() - begin < kSpinTime);
  return is_over();
}

// One call of parallel_for(): hands out items until none is left or one throws.
struct Call {
  int threads;
  int64_t items;
  void* state;
  void (*fn)(void*, int64_t, int);
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr first_error;  // guarded by mutex

  void work(int worker) {
    t_inside_parallel = true;
    try {
      for (int64_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < items;)
        fn(state, item, worker);
    } catch (...) {
      next.store(items);
      const std::lock_guard lock(mutex);
      if (!first_error) first_error = std::current_exception();
    }
    t_inside_parallel = false;
  }
};

// The helper threads of one calling thread. A call ends when its items are done and the helpers
// that have entered it have left, even if other helpers have not entered. So a helper that has lost
// its core to another program delays the call only if it lost the core inside the call. (With a
// barrier, as in OpenMP, each of the hundreds of calls of a model step would wait for such a
// helper.)
class Team {
 public:
  Team() = default;
  ~Team() {
    stops_ = true;
    announce();
    for (std::thread& helper : helpers_) helper.join();
  }

  void run(Call& call) {
    while (static_cast<int>(helpers_.size()) < call.threads - 1) {
      const int worker = static_cast<int>(helpers_.size()) + 1;
      helpers_.push_back(start_thread("to compute with", [this, worker] { serve(worker); }));
    }
    call_ = &call;
    // Not a store, because helpers that came too late for the previous call may still be counted.
    gate_.fetch_or(kOpen);
    announce();
    call.work(0);
    gate_.fetch_and(~kOpen);
    wait_for_helpers();
  }

 private:
  static constexpr uint32_t kOpen = 1u << 31;

  void announce() {
    calls_.fetch_add(1);
    if (sleepers_.load() > 0) calls_.notify_all();
  }

  // Returns when no helper is inside the call.
  void wait_for_helpers() {
    if (spin_until([&] { return gate_.load() == 0; })) return;
    caller_sleeps_ = true;
    for (uint32_t inside; (inside = gate_.load()) != 0;) gate_.wait(inside);
    caller_sleeps_ = false;
  }

  void serve(int worker) {
    for (uint32_t seen = 0;;) {
      wait_for_call_after(seen);
      seen = calls_.load();
      if (stops_) return;
      if (!enter()) continue;
      if (worker < call_->threads) call_->work(worker);
      leave();
    }
  }

  void wait_for_call_after(uint32_t seen) {
    if (spin_until([&] { return calls_.load() != seen; })) return;
    sleepers_.fetch_add(1);
    calls_.wait(seen);
    sleepers_.fetch_sub(1);
  }

  // Returns false if the call is over; `call_` may then be destroyed. A thread that has entered
  // keeps `call_` alive. Each helper changes the gate by one atomic addition and never retries. So
  // if all helpers enter at once, this takes time proportional to their number, not to its square.
  bool enter() {
    if ((gate_.fetch_add(1) & kOpen) != 0) return true;
    leave();
    return false;
  }

  void leave() {
    if (gate_.fetch_sub(1) == 1 && caller_sleeps_) gate_.notify_one();
  }

  std::vector<std::thread> helpers_;  // helper i is worker i + 1
  Call* call_ = nullptr;              // valid while the gate is open or a helper is inside
  // Number of calls so far; helpers wait for it to grow.
  alignas(64) std::atomic<uint32_t> calls_{0};
  // Number of helpers inside, plus kOpen while items are left.
  alignas(64) std::atomic<uint32_t> gate_{0};
  // Number of helpers that sleep in the futex or are about to.
  alignas(64) std::atomic<uint32_t> sleepers_{0};
  // True if the caller sleeps in the futex or is about to.
  std::atomic<bool> caller_sleeps_{false};
  std::atomic<bool> stops_{false};
};

// Returns the team of the calling thread. If one process has two engines on two threads, each
// thread has its own team.
Team& my_team() {
  thread_local Team team;
  return team;
}

}  // namespace

namespace detail {

void run_parallel(int threads, int64_t items, void* state, void (*fn)(void*, int64_t, int)) {
  if (items <= 0) return;
  if (threads <= 1 || items == 1 || t_inside_parallel) {
    for (int64_t item = 0; item < items; ++item) fn(state, item, 0);
    return;
  }
  Call call{.threads = threads,
            .items = items,
            .state = state,
            .fn = fn,
            .next = 0,
            .mutex = {},
            .first_error = nullptr};
  my_team().run(call);
  if (call.first_error) std::rethrow_exception(call.first_error);
}

}  // namespace detail
}  // namespace reprise
