// Row kernels at the widths of Llama-2-7B, for a decode step of 32 sequences and for a prefill of
// 2048 tokens. Tests compute their rooflines, and benchmarks measure them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise::kernels::cuda::testing {

inline constexpr int64_t kHidden = 4096, kIntermediate = 11008, kRowHeads = 32, kRowHeadDim = 128,
                         kVocab = 32000, kWideVocab = 128256, kMergedParts = 4;

enum class RowKernel : uint8_t {
  kNorm,
  kActivation,
  kRotary,
  kKvWrite,
  kMerge,
  kEmbedding,
  kGreedy,
  kDraw
};

struct RowCase {
  RowKernel kernel = RowKernel::kNorm;
  const char* name = "";
  const char* what = "";
  int64_t rows = 0;
  double bytes = 0;  // each input read and each output written once
};

// Bytes of a row.
inline double row_bytes(RowKernel kernel) {
  switch (kernel) {
    case RowKernel::kNorm:
      return kHidden * (4 + 2);
    case RowKernel::kActivation:
      return kIntermediate * (2 + 2 + 2);
    case RowKernel::kRotary:
      return 2 * kHidden * (4 + 4);
    case RowKernel::kKvWrite:
      return 2 * kHidden * (4 + 2);
    case RowKernel::kMerge:
      return kRowHeads * (kMergedParts * (kRowHeadDim + 2) * 4 + kRowHeadDim * 2);
    case RowKernel::kEmbedding:
      return kHidden * (2 + 4);
    case RowKernel::kGreedy:
      return kVocab * 4;
    case RowKernel::kDraw:
      return kWideVocab * 4;
  }
  return 0;
}

inline std::vector<RowCase> row_cases() {
  std::vector<RowCase> cases;
  for (const int64_t rows : {32, 2048}) {
    const auto add = [&](RowKernel kernel, const char* name, const char* what) {
      const auto bytes = row_bytes(kernel) * static_cast<double>(rows);
      cases.push_back({.kernel = kernel, .name = name, .what = what, .rows = rows, .bytes = bytes});
    };
    add(RowKernel::kNorm, "norm", "RMSNorm of 4096 f32 into bf16");
    add(RowKernel::kActivation, "activation", "gated SiLU of 11008 bf16");
    add(RowKernel::kRotary, "rotary", "32 query and 32 key heads of 128 f32, in place");
    add(RowKernel::kKvWrite, "kv_write", "32 heads of 128, f32 into bf16");
    add(RowKernel::kMerge, "merge", "4 parts of 32 heads of 128 into bf16");
    add(RowKernel::kEmbedding, "embedding", "4096 bf16 of a table into f32");
    if (rows != 32) continue;
    add(RowKernel::kGreedy, "greedy", "the largest of 32000 logits");
    add(RowKernel::kDraw, "draw", "one of 128256 tokens, top_p 0.9");
  }
  return cases;
}

}  // namespace reprise::kernels::cuda::testing
