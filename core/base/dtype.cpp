#include "core/base/dtype.h"

#include <cstring>

#include "core/base/error.h"

namespace reprise {

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kBF16:
      return "bf16";
    case DType::kF16:
      return "f16";
  }
  return "?";
}

DType parse_dtype(std::string_view name) {
  if (name == "f32" || name == "float32") return DType::kF32;
  if (name == "bf16" || name == "bfloat16") return DType::kBF16;
  if (name == "f16" || name == "float16" || name == "half") return DType::kF16;
  raise("unknown dtype \"{}\": use f32, bf16 or f16", name);
}

void convert(const void* source, DType source_dtype, void* target, DType target_dtype,
             size_t count) {
  if (source_dtype == target_dtype) {
    if (count > 0) std::memcpy(target, source, count * size_of(source_dtype));
    return;
  }
  visit_dtype(source_dtype, [&](auto from) {
    visit_dtype(target_dtype, [&](auto to) {
      const auto* in = static_cast<const decltype(from)*>(source);
      auto* out = static_cast<decltype(to)*>(target);
      for (size_t i = 0; i < count; ++i)
        out[i] = static_cast<decltype(to)>(static_cast<float>(in[i]));
    });
  });
}

}  // namespace reprise
