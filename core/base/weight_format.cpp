#include "core/base/weight_format.h"

namespace reprise {

std::string_view name_of(WeightFormat format) { return name_of(input_dtype(format)); }

WeightFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return WeightFormat::kF32;
    case DType::kBF16:
      return WeightFormat::kBF16;
    case DType::kF16:
      return WeightFormat::kF16;
  }
  return WeightFormat::kF32;
}

DType input_dtype(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return DType::kF32;
    case WeightFormat::kBF16:
      return DType::kBF16;
    case WeightFormat::kF16:
      return DType::kF16;
  }
  return DType::kF32;
}

}  // namespace reprise
