#include "core/base/weight_format.h"

#include <string>
#include <vector>

#include "core/base/error.h"

namespace reprise {

std::string_view name_of(WeightFormat format) {
  switch (format) {
    case WeightFormat::kInt8:
      return "int8";
    case WeightFormat::kInt4:
      return "int4";
    case WeightFormat::kNf4:
      return "nf4";
    case WeightFormat::kNf4Double:
      return "nf4-double";
    case WeightFormat::kF32:
    case WeightFormat::kBF16:
    case WeightFormat::kF16:
      break;
  }
  return name_of(source_dtype(format));
}

WeightFormat parse_weight_format(std::string_view name) {
  std::vector<std::string> names;
  for (const WeightFormat format : kWeightFormats) {
    if (name == name_of(format)) return format;
    names.emplace_back(name_of(format));
  }
  for (const std::string_view other : {"float32", "bfloat16", "float16", "half"})
    if (name == other) return format_of(parse_dtype(name));
  raise("{}", unknown_name("weight format", name, names));
}

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

DType source_dtype(WeightFormat format) {
  if (format == WeightFormat::kBF16) return DType::kBF16;
  if (format == WeightFormat::kF16) return DType::kF16;
  return DType::kF32;
}

double bits_per_weight(WeightFormat format) {
  switch (format) {
    case WeightFormat::kInt8:
      return 8.0;
    case WeightFormat::kInt4:  // a scale and a minimum per group
      return 4.0 + 2 * 32.0 / 128;
    case WeightFormat::kNf4:
      return 4.0 + 32.0 / 64;
    case WeightFormat::kNf4Double:
      return 4.0 + 8.0 / 64 + 32.0 / (64 * 256);
    case WeightFormat::kF32:
    case WeightFormat::kBF16:
    case WeightFormat::kF16:
      break;
  }
  return 8.0 * static_cast<double>(size_of(source_dtype(format)));
}

}  // namespace reprise
