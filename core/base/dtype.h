// Number formats of weights, activations and caches, and their exact conversions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace reprise {

enum class DType : uint8_t { kF32, kBF16, kF16 };

// "f32", "bf16", "f16".
std::string_view name_of(DType dtype);
// Accepts the results of name_of() and "float32", "bfloat16", "float16", "half". Throws Error for
// other names.
DType parse_dtype(std::string_view name);

constexpr size_t size_of(DType dtype) { return dtype == DType::kF32 ? 4 : 2; }

// Distance from 1 to the next larger number of `dtype`. All derived tolerances are multiples of it.
constexpr double epsilon_of(DType dtype) {
  return dtype == DType::kF32 ? 0x1p-23 : dtype == DType::kBF16 ? 0x1p-7 : 0x1p-10;
}

// The upper 16 bits of an f32. Conversion from f32 rounds to nearest even; a NaN stays a NaN.
struct bf16 {
  uint16_t bits = 0;

  bf16() = default;
  explicit bf16(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<uint16_t>((word >> 16) | 0x0040u);
    } else {
      bits = static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
    }
  }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

// IEEE binary16. Conversion from f32 rounds to nearest even; overflow becomes infinity; subnormals
// are kept.
struct f16 {
  uint16_t bits = 0;

  f16() = default;
  explicit f16(float value);
  operator float() const;
};

inline f16::f16(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((word >> 16) & 0x8000u);
  const uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude >= 0x47800000u) {  // 65536 and above, infinity, NaN
    bits = static_cast<uint16_t>(sign | 0x7c00u | (magnitude > 0x7f800000u ? 0x0200u : 0u));
  } else if (magnitude <
             0x38800000u) {  // below the smallest normal: let f32 addition do the rounding
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    bits = static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  } else {
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    bits = static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
}

inline f16::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u)
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude < 0x0400u) {  // zero and subnormals: exactly magnitude * 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

template <typename T>
inline constexpr DType dtype_of = DType::kF32;
template <>
inline constexpr DType dtype_of<bf16> = DType::kBF16;
template <>
inline constexpr DType dtype_of<f16> = DType::kF16;

// Calls fn(T{}) with the C++ type of `dtype`.
template <typename Fn>
decltype(auto) visit_dtype(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kBF16:
      return fn(bf16{});
    case DType::kF16:
      return fn(f16{});
    case DType::kF32:
      break;
  }
  return fn(float{});
}

// Converts `count` values one by one between any two formats. The ranges must not overlap.
void convert(const void* source, DType source_dtype, void* target, DType target_dtype,
             size_t count);

}  // namespace reprise
