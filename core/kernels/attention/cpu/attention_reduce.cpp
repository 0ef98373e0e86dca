// Merges one lane's partial result into the running result of its row and head.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "core/kernels/attention/cpu/attention_task.h"

namespace reprise::kernels::cpu {
namespace {

// Holds an entry's lock. A lock is held only while one vector is added, so waiting threads spin. A
// thread that still waits after kSpins tries lets other threads run, because the thread that holds
// the lock may have lost its core.
class HeldEntry {
 public:
  explicit HeldEntry(uint8_t& lock) : lock_(lock) {
    constexpr int kSpins = 100;
    for (int tries = 0; lock_.exchange(1, std::memory_order_acquire) != 0; ++tries)
      if (tries >= kSpins) std::this_thread::yield();
  }
  ~HeldEntry() { lock_.store(0, std::memory_order_release); }
  HeldEntry(const HeldEntry&) = delete;
  HeldEntry& operator=(const HeldEntry&) = delete;

 private:
  std::atomic_ref<uint8_t> lock_;
};

}  // namespace

void reduce_partial(const AttentionTask& task, int64_t entry, const float* o, float m, float n) {
  if (n == 0.0f) return;  // the part saw no key; a NaN is merged
  float* row_o = task.partial_o + entry * task.head_dim;
  float& row_m = task.partial_m[entry];
  float& row_n = task.partial_n[entry];
  const HeldEntry held(task.partial_locks[entry]);
  if (row_n == 0.0f) {
    std::copy_n(o, task.head_dim, row_o);
    row_m = m;
    row_n = n;
    return;
  }
  const float most = std::max(row_m, m);
  const float x = std::exp(m - most), y = std::exp(row_m - most);
  for (int c = 0; c < task.head_dim; ++c) row_o[c] = x * o[c] + y * row_o[c];
  row_n = x * n + y * row_n;
  row_m = most;
}

}  // namespace reprise::kernels::cpu
