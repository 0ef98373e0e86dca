// The resources a computation may use, and parallel_for() over its threads.
//
// Each calling thread keeps a team of threads for its next parallel_for(). A library with threads
// of its own (FAISS) may use only the thread that calls it, because two thread pools would compete
// for the cores.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "core/base/threads.h"
#include "core/device/cpu.h"
#include "core/device/device.h"
#include "core/device/device_runtime.h"
#include "core/device/fetch_setting.h"

namespace reprise {

class OperationLog;

// The resources a computation may use. It is passed down; there are no globals behind it.
struct Context {
  int threads = 1;               // workers of a parallel_for
  Isa isa = Isa::kPortable;      // strongest instruction set to use; set at start-up
  Device device = Device::kCpu;  // device of weights, caches and kernels
  // Prefetch settings of attention with few query rows (decode). fetch_bf16: for bf16 keys.
  // fetch_f32: for keys of any other dtype.
  FetchSetting fetch_bf16, fetch_f32;
  // Prefetch of weights in products of few rows, by weight format. By default f32 weights are not
  // prefetched, because the other formats' default made a product of one row take 1.06 times as
  // long (Zen 5, 32 MiB matrices from memory).
  WeightFetch weights_bf16, weights_f32 = {.bytes = 0}, weights_codes;
  // Prefetch of bf16 weights on AVX512-BF16. batch_bf16: in products of 5 to 18 rows.
  // large_batch_bf16: in products of 19 or more rows (with AMX, 19 to 32).
  WeightFetch batch_bf16 = {.bytes = 8 << 10}, large_batch_bf16 = {.bytes = 32 << 10};
  // True: the bits of a row's results depend only on the tokens of its sequence up to that row.
  // They do not depend on the other rows of the step, nor on how the sequence was cut into steps.
  // Decoders on the CPU support this, at a cost in speed (docs/engine.md).
  bool is_batch_invariant = false;
  OperationLog* operations = nullptr;      // receives the time of each operation; null: no log
  std::shared_ptr<DeviceRuntime> runtime;  // runtime of `device`; null for the CPU

  // All cores that this process may run on, the best instruction set, and the prefetches that the
  // environment variables REPRISE_FETCH and REPRISE_WEIGHT_FETCH give (or the defaults). Throws
  // Error if a variable is malformed.
  static Context machine();
};

// Returns the context with the CPU as its device.
inline Context on_cpu(Context context) {
  context.device = Device::kCpu;
  context.runtime = nullptr;
  return context;
}

// given_fetch(): the setting that REPRISE_FETCH gives for keys of every dtype.
// given_weight_fetch(): the setting that REPRISE_WEIGHT_FETCH gives for weights of every format.
// Each is nullopt if its variable is unset or empty.
std::optional<FetchSetting> given_fetch();
std::optional<WeightFetch> given_weight_fetch();

// Calls fn(item, worker) once for each `item` in [0, items); `worker` is in [0, context.threads).
// Items are handed out one by one, so results must not depend on which worker takes an item. A
// nested parallel_for() runs on its caller's thread alone. If fn() throws, no more items are handed
// out, and parallel_for() rethrows the first exception.
template <typename Fn>
void parallel_for(const Context& context, int64_t items, Fn&& fn) {
  using Callable = std::remove_reference_t<Fn>;
  detail::run_parallel(context.threads, items, const_cast<void*>(static_cast<const void*>(&fn)),
                       [](void* state, int64_t item, int worker) {
                         (*static_cast<Callable*>(state))(item, worker);
                       });
}

// Wakes all threads of the caller's team before a measurement: a thread that has slept takes tens
// of microseconds longer for its first item. Returns true once all are awake, and false if one
// still sleeps after a millisecond.
bool wake_threads(const Context& context);

}  // namespace reprise
