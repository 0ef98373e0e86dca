// Attention maps of a prompt at the width of Llama-2-7B. Tests compute rooflines of them, and
// benchmarks measure the kernels on them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/dtype.h"

namespace reprise::kernels::cuda::testing {

inline constexpr int64_t kMapHeads = 32, kMapHeadDim = 128;

struct MapCase {
  const char* name = "";  // compute_map, or apply_map/FORMAT with the map's format
  const char* what = "";
  DType map_dtype = DType::kF32;
  bool has_bytes = false;  // the map is in bytes, with a scale for each row
  bool is_applied = false;
  int64_t tokens = 0;

  // Counts each input read once and each output written once. Causal maps count whole, as maps of
  // encoders do, because they are stored and read whole.
  [[nodiscard]] double bytes() const {
    const auto weights = static_cast<double>(kMapHeads * tokens * tokens);
    const auto values = static_cast<double>(kMapHeads * kMapHeadDim * tokens);
    if (!is_applied) return weights * 4 + values * (4 + 2);  // f32 queries, bf16 keys
    const double of_weight = has_bytes ? 1.0 : static_cast<double>(size_of(map_dtype));
    return weights * of_weight + values * (2 + 2);
  }
  // FLOPs of the product, without tokens that a row does not see.
  [[nodiscard]] double flops() const {
    return static_cast<double>(kMapHeads * kMapHeadDim * tokens * (tokens + 1));
  }
};

inline std::vector<MapCase> map_cases() {
  std::vector<MapCase> cases;
  for (const int64_t tokens : {128, 512, 2048}) {
    cases.push_back(
        {.name = "compute_map", .what = "maps of 32 heads of 128 in f32", .tokens = tokens});
    cases.push_back({.name = "apply_map/f32",
                     .what = "f32 maps of 32 heads, values of 128 bf16",
                     .is_applied = true,
                     .tokens = tokens});
    cases.push_back({.name = "apply_map/bf16",
                     .what = "bf16 maps of 32 heads, values of 128 bf16",
                     .map_dtype = DType::kBF16,
                     .is_applied = true,
                     .tokens = tokens});
    cases.push_back({.name = "apply_map/u8",
                     .what = "maps of 32 heads in bytes, values of 128 bf16",
                     .has_bytes = true,
                     .is_applied = true,
                     .tokens = tokens});
  }
  return cases;
}

}  // namespace reprise::kernels::cuda::testing
