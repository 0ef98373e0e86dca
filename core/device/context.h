// What a computation may use, and parallel_for over items cut by shape on its threads.
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

// What a computation may use. Passed down; there are no globals behind it.
struct Context {
  int threads = 1;               // workers of a parallel_for
  Isa isa = Isa::kPortable;      // strongest instruction set to use; set at start-up
  Device device = Device::kCpu;  // where weights, caches and kernels are
  // How attention over bf16 and over other keys fetches ahead, where few rows read them (decode).
  FetchSetting fetch_bf16, fetch_f32;
  std::shared_ptr<DeviceRuntime> runtime;  // of `device`; null: the CPU's

  // All cores this process may run on, best instruction set; fetching ahead as the environment
  // variable REPRISE_FETCH says, or else by default. Throws Error where it says nonsense.
  static Context machine();
};

// The same for work on the CPU.
inline Context on_cpu(Context context) {
  context.device = Device::kCpu;
  context.runtime = nullptr;
  return context;
}

// What REPRISE_FETCH says, for both dtypes; none where it is not set or empty.
std::optional<FetchSetting> given_fetch();

// Calls fn(item, worker) once for each item of [0, items), worker in [0, context.threads). Items
// are handed out one by one, so results must not depend on which worker takes which. A call inside
// another runs on its caller's thread. The first exception stops the handing out and reaches the
// caller. Each calling thread has a team of its own, kept for its next call. Libraries that would
// fork by themselves (oneDNN) are called on one thread each: two pools would fight for the cores.
template <typename Fn>
void parallel_for(const Context& context, int64_t items, Fn&& fn) {
  using Callable = std::remove_reference_t<Fn>;
  detail::run_parallel(context.threads, items, const_cast<void*>(static_cast<const void*>(&fn)),
                       [](void* state, int64_t item, int worker) {
                         (*static_cast<Callable*>(state))(item, worker);
                       });
}

// Returns when all threads of the caller's team are awake, as they are between calls that follow
// one another: a thread that has slept takes tens of microseconds longer for its first item, which
// would count as the time of whatever is measured after something else. False where one did not
// come within a millisecond.
bool wake_threads(const Context& context);

}  // namespace reprise
