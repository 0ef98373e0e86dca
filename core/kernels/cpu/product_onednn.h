// Matrix products on packed weights through oneDNN, primitives made once for each shape of call.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/dtype.h"
#include "core/device/buffer.h"

namespace reprise::kernels::cpu {

struct ProductShape {
  int64_t m = 0, n = 0, k = 0;
  DType dtype = DType::kF32;  // of x and w
  DType out_dtype = DType::kF32;
  bool has_bias = false;
  bool accumulate = false;
  auto operator<=>(const ProductShape&) const = default;
};

// All primitives of one weight matrix.
class ProductCache {
 public:
  ProductCache();
  ~ProductCache();
  // out = x w (+ bias) (+ out). Returns false, having done nothing, where oneDNN has no fast
  // implementation for this processor and packing.
  bool run(const ProductShape& shape, const void* x, const void* w, const float* bias, void* out,
           AlignedBuffer& scratchpad, int threads);

 private:
  struct Entry;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::kernels::cpu
