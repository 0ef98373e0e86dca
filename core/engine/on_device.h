// Moves a context to the device of a runtime.
#pragma once

#include <memory>
#include <utility>

#include "core/device/context.h"

namespace reprise::engine {

// Returns `context` with `runtime` and its device. Returns it unchanged if `runtime` is null.
inline Context on_device(Context context, std::shared_ptr<DeviceRuntime> runtime) {
  if (runtime == nullptr) return context;
  context.device = runtime->device();
  context.runtime = std::move(runtime);
  return context;
}

}  // namespace reprise::engine
