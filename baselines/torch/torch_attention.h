// Decode attention by libtorch: the baselines that are available to a PyTorch user. This header
// includes none of libtorch's headers.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "baselines/torch/torch_problem.h"

namespace reprise::baselines {

// The version of libtorch that this program was built with; "" if it was built without.
std::string torch_version();

// Returns the reason why libtorch cannot be used on `memory`, with the remedy: the program was
// built without libtorch, libtorch cannot be loaded, or it finds no CUDA device. Returns "" if
// libtorch can be used. The first call loads libtorch.
std::string torch_absence(Device memory = Device::kCpu);

// A name for each kernel, as experiment files and records write it.
struct TorchBaseline {
  const char* name;
  TorchKernel kernel;
  const char* summary;
};
std::span<const TorchBaseline> torch_baselines();

// Computes softmax(scale * q k^T) v of one decode step by libtorch's own kernels. Every sequence
// has its own contiguous keys and values, as in a cache without sharing.
//   kNaive            matmul, softmax, matmul: the whole score matrix [batch, heads, tokens]
//   kSdpa             scaled_dot_product_attention; description() names the kernel it dispatches to
//   kMemoryEfficient  on a GPU: libtorch's memory-efficient kernel (from xFormers). On a CPU, where
//                     libtorch has none: the chunked softmax of Rabe and Staats (arXiv:2112.05682)
//                     in libtorch's operations, which holds the scores of one sequence and one
//                     chunk of keys at a time
// Query heads that share a KV head become query rows of that head. So keys are not copied, and each
// KV head is read once (README.md has the times of the alternatives). Queries are rounded to the
// dtype of keys and values, as libtorch does it. So is the result, except that of kMemoryEfficient
// on a CPU, which stays in f32.
class TorchAttention {
 public:
  // Tokens in a key chunk of kMemoryEfficient on a CPU, as in Rabe and Staats's listing. If fewer
  // tokens than half a chunk are left at the end, they are added to the last chunk.
  static constexpr int64_t kKeyChunk = 4096;

  // Loads libtorch on first use. Keys and values must outlive this. Throws ShapeError for an extent
  // below 1 or heads % kv_heads != 0. Throws Error, with the remedy, if libtorch is missing, cannot
  // be loaded, or does not support the device or the dtype (libtorch 1.13 does not support f16).
  explicit TorchAttention(const TorchProblem& problem);

  // Computes attention of q [batch, heads, head_dim], in q_dtype and in the memory of the keys. On
  // a GPU it enqueues the work on the device's stream and returns. Allocates intermediates and
  // result, as libtorch does. Sets the calling thread's OpenMP team to problem.threads. Throws
  // Error with libtorch's message if libtorch fails.
  void run(const void* q);
  // Copies the result of run() to out [batch, heads, head_dim], f32 in the host's memory.
  void read(float* out);

  // Returns libtorch's version, the function, and the kernel that the function dispatches to, for
  // records: for example "torch 2.15.0 scaled_dot_product_attention, CPU flash kernel".
  [[nodiscard]] std::string description() const { return operator_->description(); }

 private:
  std::unique_ptr<TorchOperator> operator_;
};

}  // namespace reprise::baselines
