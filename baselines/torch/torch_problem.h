// The problem that a libtorch baseline computes, and the interface of the module that computes it.
// Plain data, because only the module is compiled against libtorch's headers.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/device/device.h"

namespace reprise::baselines {

// torch_attention.h describes the kernels.
enum class TorchKernel : uint8_t { kNaive, kSdpa, kMemoryEfficient };

// One decode step: each sequence has one query per head, and keys and values of its own.
struct TorchProblem {
  TorchKernel kernel = TorchKernel::kSdpa;
  DType dtype = DType::kF32;  // dtype of keys and values
  int64_t batch = 0, heads = 0, kv_heads = 0, tokens = 0, head_dim = 0;
  const void* keys = nullptr;    // [batch, kv_heads, tokens, head_dim], owned by the caller
  const void* values = nullptr;  // [batch, kv_heads, tokens, head_dim], owned by the caller
  int threads = 1;               // threads on a CPU
  float scale = 1.0f;            // factor of the scores
  DType q_dtype = DType::kF32;   // f32, or the dtype of keys and values
  DeviceHandle device;           // its memory holds keys, values and queries
};

// The operator that the module implements. Its functions throw only std::exception.
class TorchOperator {
 public:
  virtual ~TorchOperator() = default;
  virtual void run(const void* q) = 0;
  virtual void read(float* out) = 0;
  [[nodiscard]] virtual const char* description() const = 0;
};

// Name of the module's only symbol, a TorchFunctions.
inline constexpr const char* kTorchFunctions = "reprise_torch_functions";

struct TorchFunctions {
  // Makes an operator, which the caller deletes.
  TorchOperator* (*make)(const TorchProblem&);
  // The reason why libtorch cannot compute on this machine's CUDA devices; "" if it can. The first
  // call loads libtorch's CUDA library and must precede any other use of libtorch.
  const char* (*cuda_absence)();
};

}  // namespace reprise::baselines
