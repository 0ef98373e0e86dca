// Matrix products on packed weights through oneDNN, with a primitive for each shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/dtype.h"
#include "core/device/cpu.h"

namespace reprise::kernels::cpu {

struct ProductShape {
  int64_t m = 0, n = 0, k = 0;
  DType dtype = DType::kF32;  // dtype of x and w
  DType out_dtype = DType::kF32;
  bool has_bias = false;
  bool accumulate = false;  // adds to `out`
  bool operator==(const ProductShape&) const = default;
};

// The product of one shape, run by the calling thread; several threads may run it at once.
class Product {
 public:
  struct Primitive;
  explicit Product(std::unique_ptr<const Primitive> primitive);
  ~Product();

  // Bytes of scratchpad that run() needs; each thread has its own.
  [[nodiscard]] size_t scratchpad_bytes() const;
  // Computes out = x w (+ bias) (+ out) with x [m, k] and out [m, n]. w is in panels of 64 outputs
  // (core/kernels/linear/cpu/panels.h). Rows of out have no gaps, because this oneDNN has no fast
  // implementation for rows with gaps. Throws Error if oneDNN fails.
  void run(const void* x, const void* w, const float* bias, void* out, void* scratchpad) const;

 private:
  std::unique_ptr<const Primitive> primitive_;
};

// Returns null if oneDNN has no fast implementation for this processor and packing. Throws Error
// for any other failure.
[[nodiscard]] std::shared_ptr<const Product> make_product(const ProductShape& shape);

// False in a build without oneDNN (REPRISE_ONEDNN), in which make_product() always returns null.
[[nodiscard]] bool products_are_built_in();

// True if oneDNN's bf16 products use AMX on this processor. AMX's tiles compute several times as
// fast as AVX-512.
[[nodiscard]] bool product_uses_amx();

// True if `isa` allows the instruction set that oneDNN itself chooses for products of `dtype`.
[[nodiscard]] inline bool allows_products(Isa isa, DType dtype) {
  if (dtype == DType::kF32) return isa >= Isa::kAvx512;
  return isa == Isa::kAmx || (isa == Isa::kAvx512Bf16 && !product_uses_amx());
}

// Keeps the products of the most recently used shapes. With continuous batching every step may have
// another m, so an unbounded cache would grow with the number of batch sizes times the number of
// the model's shapes. Making a product takes 0.4 ms of a core (a Xeon with AVX512-BF16, oneDNN
// 2.6), or 10 us if oneDNN's own cache of 1024 primitives still contains it. A product takes about
// 75 KiB in bf16. (Rounding m up instead would either copy the rows or change their bits.)
class ProductCache {
 public:
  static constexpr size_t kCapacity = 1024;

  explicit ProductCache(size_t capacity = kCapacity);
  ~ProductCache();
  [[nodiscard]] size_t size() const;  // <= capacity
  [[nodiscard]] bool holds(const ProductShape& shape) const;
  // Returns the product of a shape, and makes it if the cache does not contain it. Returns null if
  // make_product() does.
  std::shared_ptr<const Product> get(const ProductShape& shape);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::kernels::cpu
