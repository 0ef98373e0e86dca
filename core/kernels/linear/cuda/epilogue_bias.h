// The bias of a layer in the type in which a product's epilogue adds it.
#pragma once

#include <cstdint>

#include "core/device/buffer.h"
#include "core/kernels/linear/linear.h"

namespace reprise::kernels::cuda {

class EpilogueBias {
 public:
  // Returns the call's bias [outputs] in device memory, in the type of the call's outputs; null
  // without a bias. A bias in 16 bits is made at the first call that has it, and kept.
  const void* of(const LinearCall& call, int64_t outputs, const Context& context);

 private:
  Buffer narrow_;
  const float* narrowed_ = nullptr;
};

}  // namespace reprise::kernels::cuda
