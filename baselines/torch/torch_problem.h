// What a libtorch baseline computes, and the seam to the module that computes it: plain data, since
// one side of the seam is compiled against libtorch's headers and the other must not be.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"

namespace reprise::baselines {

// See torch_attention.h.
enum class TorchKernel : uint8_t { kNaive, kSdpa, kMemoryEfficient };

// One decode step: a query row for each sequence over that sequence's own keys and values.
struct TorchProblem {
  TorchKernel kernel = TorchKernel::kSdpa;
  DType dtype = DType::kF32;  // of keys and values
  int64_t batch = 0, heads = 0, kv_heads = 0, tokens = 0, head_dim = 0;
  const void* keys = nullptr;    // [batch, kv_heads, tokens, head_dim], the caller's
  const void* values = nullptr;  // [batch, kv_heads, tokens, head_dim], the caller's
  int threads = 1;
  float scale = 1.0f;  // of the scores
};

// Implemented by the module. Throws nothing but std::exception.
class TorchOperator {
 public:
  virtual ~TorchOperator() = default;
  virtual void run(const float* q, float* out) = 0;
  [[nodiscard]] virtual const char* description() const = 0;
};

// The one symbol of the module; the caller deletes what it returns.
using TorchOperatorMaker = TorchOperator* (*)(const TorchProblem&);
inline constexpr const char* kTorchOperatorMaker = "reprise_make_torch_operator";

}  // namespace reprise::baselines
