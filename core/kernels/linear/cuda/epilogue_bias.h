// The bias of a linear layer, in the dtype in which a product's epilogue adds it.
#pragma once

#include <cstdint>

#include "core/device/buffer.h"
#include "core/kernels/linear/linear.h"

namespace reprise::kernels::cuda {

class EpilogueBias {
 public:
  // Returns the call's bias [outputs] in device memory, in the dtype of the call's outputs, or null
  // if the call has no bias. A 16-bit copy of a bias is made at the first call with this bias, and
  // kept.
  const void* of(const LinearCall& call, int64_t outputs, const Context& context);

 private:
  Buffer narrow_;
  const float* narrowed_ = nullptr;
};

}  // namespace reprise::kernels::cuda
