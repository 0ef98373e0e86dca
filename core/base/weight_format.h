// How the numbers of a weight matrix are held, which need not be the format of activations.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/dtype.h"

namespace reprise {

// Formats with scales (int8, int4, NF4) will stand here beside the plain ones.
enum class WeightFormat : uint8_t { kF32, kBF16, kF16 };

std::string_view name_of(WeightFormat format);  // "f32", "bf16", "f16"
// The plain format that holds values of `dtype`.
WeightFormat format_of(DType dtype);
// What a matrix in this format is filled from and multiplied with.
DType input_dtype(WeightFormat format);

}  // namespace reprise
