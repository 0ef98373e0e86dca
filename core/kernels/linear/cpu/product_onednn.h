// Matrix products on packed weights through oneDNN, primitives made once for each shape of call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/dtype.h"

namespace reprise::kernels::cpu {

struct ProductShape {
  int64_t m = 0, n = 0, k = 0;
  DType dtype = DType::kF32;  // of x and w
  DType out_dtype = DType::kF32;
  bool has_bias = false;
  bool accumulate = false;  // adds to what is there
  bool operator==(const ProductShape&) const = default;
};

// The product of one shape, computed by the thread that calls it: several may at once.
class Product {
 public:
  struct Primitive;
  explicit Product(std::unique_ptr<const Primitive> primitive);
  ~Product();

  // Bytes that run() needs as scratchpad, of each thread its own.
  [[nodiscard]] size_t scratchpad_bytes() const;
  // out = x w (+ bias) (+ out): x [m, k], w panels of 64 outputs
  // (core/kernels/linear/cpu/panels.h), out [m, n], rows without gaps (for rows with gaps this
  // oneDNN has no fast implementation). Throws Error where oneDNN fails.
  void run(const void* x, const void* w, const float* bias, void* out, void* scratchpad) const;

 private:
  std::unique_ptr<const Primitive> primitive_;
};

// Null where oneDNN has no fast implementation for this processor and packing. Throws Error where
// it fails otherwise.
[[nodiscard]] std::shared_ptr<const Product> make_product(const ProductShape& shape);

// False in a build without oneDNN (REPRISE_ONEDNN): then every product is null.
[[nodiscard]] bool products_are_built_in();

// Whether bf16 products compute with AMX here: its tiles do several times the arithmetic of
// AVX-512.
[[nodiscard]] bool product_uses_amx();

// The products of the last shapes that were asked for. Under continuous batching every step may
// have another m: without a bound the cache would grow with the number of batch sizes seen, times
// the shapes of a model. Making a product takes 0.4 ms of a core (a Xeon with AVX512-BF16, oneDNN
// 2.6), or 10 us where oneDNN's own cache of 1024 still has it, and holds about 75 KiB in bf16.
// Rounding m up instead would copy the rows of every size that is served today, or change their
// bits.
class ProductCache {
 public:
  static constexpr size_t kCapacity = 1024;

  explicit ProductCache(size_t capacity = kCapacity);
  ~ProductCache();
  [[nodiscard]] size_t size() const;  // <= capacity
  [[nodiscard]] bool holds(const ProductShape& shape) const;
  // Made if it is new; null as make_product() says.
  std::shared_ptr<const Product> get(const ProductShape& shape);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::kernels::cpu
