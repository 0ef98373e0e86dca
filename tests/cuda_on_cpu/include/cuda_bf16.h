// Stands for CUDA's header of this name: the type and the conversions that the kernels use.
// Conversions round to nearest even; every NaN becomes 0x7fff, as cvt.rn.bf16.f32 makes it.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/base/dtype.h"
#include "tests/cuda_on_cpu/vector_types.h"

struct __nv_bfloat16 {
  unsigned short bits;

  __nv_bfloat16() = default;
  __nv_bfloat16(float value) : bits(std::isnan(value) ? 0x7fffu : reprise::bf16(value).bits) {}
  operator float() const {
    reprise::bf16 value;
    value.bits = bits;
    return value;
  }
};

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline __nv_bfloat16 __float2bfloat16_rn(float value) { return value; }
inline __nv_bfloat16 __float2bfloat16(float value) { return value; }
inline float __bfloat162float(__nv_bfloat16 value) { return value; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  __nv_bfloat16 value;
  value.bits = bits;
  return value;
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 pair) { return {pair.x, pair.y}; }
