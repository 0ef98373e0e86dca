#include "core/base/threads.h"

#include <omp.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace reprise {
namespace {

thread_local bool t_inside_parallel = false;

// Hands out items until none is left or one threw.
struct Dispatcher {
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

#if defined(__SANITIZE_THREAD__)
#define REPRISE_STD_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define REPRISE_STD_THREADS 1
#endif
#endif

}  // namespace

namespace detail {

void run_parallel(int threads, int64_t items, void* state, void (*fn)(void*, int64_t, int)) {
  if (items <= 0) return;
  if (threads <= 1 || items == 1 || t_inside_parallel) {
    for (int64_t item = 0; item < items; ++item) fn(state, item, 0);
    return;
  }
  // The whole team is always asked for: libgomp tears threads down and makes new ones when team
  // sizes alternate.
  Dispatcher dispatcher{
      .items = items, .state = state, .fn = fn, .next = 0, .mutex = {}, .first_error = nullptr};
#ifdef REPRISE_STD_THREADS
  std::vector<std::thread> team;
  for (int worker = 1; worker < threads; ++worker)
    team.emplace_back([&, worker] { dispatcher.work(worker); });
  dispatcher.work(0);
  for (std::thread& thread : team) thread.join();
#else
#pragma omp parallel num_threads(threads)
  dispatcher.work(omp_get_thread_num());
#endif
  if (dispatcher.first_error) std::rethrow_exception(dispatcher.first_error);
}

}  // namespace detail
}  // namespace reprise
