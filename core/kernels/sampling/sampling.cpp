#include "core/kernels/sampling/sampling.h"

#include "core/base/error.h"
#include "core/kernels/device/device_kernels.h"

namespace reprise::kernels {

void SampleCall::run(const Context& context) const {
  DeviceKernels* device = device_kernels(context, "sampling");
  REPRISE_CHECK(device != nullptr, "the CPU samples through engine::sample_rows()");
  REPRISE_CHECK(tokens.size() == rules.size(), "{} rules, {} tokens", rules.size(), tokens.size());
  if (!rules.empty()) device->sample(*this);
}

}  // namespace reprise::kernels
