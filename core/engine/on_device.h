// The caller's context where something lies on a device.
#pragma once

#include <memory>
#include <utility>

#include "core/device/context.h"

namespace reprise::engine {

// `context` on the runtime's device; as it is where there is none.
inline Context on_device(Context context, std::shared_ptr<DeviceRuntime> runtime) {
  if (runtime == nullptr) return context;
  context.device = runtime->device();
  context.runtime = std::move(runtime);
  return context;
}

}  // namespace reprise::engine
