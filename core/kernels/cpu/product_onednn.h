// Matrix products on packed weights through oneDNN, primitives made once for each shape of call.
#pragma once

#include <cstddef>
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
  bool operator==(const ProductShape&) const = default;
};

// The primitives of the last shapes that were asked for. Under continuous batching every step may
// have another m: without a bound the cache would grow with the number of batch sizes seen, times
// the shapes of a model. Making a primitive takes 0.4 ms of a core (a Xeon with AVX512-BF16,
// oneDNN 2.6), or 10 us where oneDNN's own cache of 1024 still has it, and holds about 75 KiB in
// bf16; a model has four to six shapes for an m, so the bound is some 200 batch sizes. Rounding m
// up instead would copy the rows of every size that is served today, or change their bits.
class ProductCache {
 public:
  static constexpr size_t kCapacity = 1024;

  explicit ProductCache(size_t capacity = kCapacity);
  ~ProductCache();
  [[nodiscard]] size_t size() const;  // <= capacity
  [[nodiscard]] bool holds(const ProductShape& shape) const;
  // out = x w (+ bias) (+ out). Returns false, having done nothing, where oneDNN has no fast
  // implementation for this processor and packing.
  bool run(const ProductShape& shape, const void* x, const void* w, const float* bias, void* out,
           AlignedBuffer& scratchpad, int threads);

 private:
  struct Entry;
  struct State;
  static Entry make_entry(const ProductShape& shape);
  std::unique_ptr<State> state_;
};

}  // namespace reprise::kernels::cpu
