// What a libtorch baseline computes, and the seam to the module that computes it: plain data, since
// one side of the seam is compiled against libtorch's headers and the other must not be.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/device/device.h"

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
  int threads = 1;               // on a CPU
  float scale = 1.0f;            // of the scores
  DType q_dtype = DType::kF32;   // f32, or that of keys and values
  DeviceHandle device;           // whose memory keys, values and queries are in
};

// Implemented by the module. Throws nothing but std::exception.
class TorchOperator {
 public:
  virtual ~TorchOperator() = default;
  virtual void run(const void* q) = 0;
  virtual void read(float* out) = 0;
  [[nodiscard]] virtual const char* description() const = 0;
};

// The one symbol of the module, a TorchFunctions.
inline constexpr const char* kTorchFunctions = "reprise_torch_functions";

struct TorchFunctions {
  // The caller deletes what it returns.
  TorchOperator* (*make)(const TorchProblem&);
  // Why libtorch does not compute on the CUDA devices that are there; "" if it does. What it takes
  // to is loaded by the first call, which comes before any other of libtorch.
  const char* (*cuda_absence)();
};

}  // namespace reprise::baselines
