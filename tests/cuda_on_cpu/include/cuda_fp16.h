// Stands for CUDA's header of this name: the type and the conversions that the kernels use.
// Conversions round to nearest even; every NaN becomes 0x7fff, as cvt.rn.f16.f32 makes it.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/base/dtype.h"
#include "tests/cuda_on_cpu/vector_types.h"

struct __half {
  unsigned short bits;

  __half() = default;
  __half(float value) : bits(std::isnan(value) ? 0x7fffu : reprise::f16(value).bits) {}
  operator float() const {
    reprise::f16 value;
    value.bits = bits;
    return value;
  }
};

struct alignas(4) __half2 {
  __half x, y;
};

inline __half __float2half_rn(float value) { return value; }
inline __half __float2half(float value) { return value; }
inline float __half2float(__half value) { return value; }
inline unsigned short __half_as_ushort(__half value) { return value.bits; }
inline __half __ushort_as_half(unsigned short bits) {
  __half value;
  value.bits = bits;
  return value;
}
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline float2 __half22float2(__half2 pair) { return {pair.x, pair.y}; }
