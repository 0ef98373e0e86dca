// The baselines that a PyTorch user has: decode attention by libtorch, without its headers.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "baselines/torch/torch_problem.h"

namespace reprise::baselines {

// The version this program was built with, "" if it was built without libtorch.
std::string torch_version();

// Why libtorch cannot be used on `memory`'s device (the program was built without it, what it was
// built with cannot be loaded or knows no CUDA device), with the remedy; "" if it can. Loads it on
// first use.
std::string torch_absence(Device memory = Device::kCpu);

// A name for each kernel, as experiment files and records write it.
struct TorchMethod {
  const char* name;
  TorchKernel kernel;
  const char* summary;
};
std::span<const TorchMethod> torch_methods();

// softmax(scale * q k^T) v of one decode step by libtorch's own kernels, over private contiguous
// keys and values: the cache of a user who shares nothing.
//   kNaive            matmul, softmax, matmul: the whole score matrix [batch, heads, tokens]
//   kSdpa             scaled_dot_product_attention; what it dispatches to is in description()
//   kMemoryEfficient  on a GPU libtorch's kernel of that name (of xFormers). It has none for CPUs,
//                     so there the idea of Rabe and Staats (arXiv:2112.05682) in libtorch's
//                     operations, with the key chunks of their listing: at any time the scores of
//                     one sequence and kKeyChunk tokens exist
// Where query heads share a KV head, they are the query rows of that head: no copy of keys is made,
// and each KV head is read once (README.md has the times of the alternatives). q is rounded to the
// dtype of keys and values and so is the result, as libtorch does it.
class TorchAttention {
 public:
  // Tokens of a key chunk of kMemoryEfficient; a rest below half of it joins the chunk before.
  static constexpr int64_t kKeyChunk = 4096;

  // Loads libtorch on first use. Keys and values must outlive this. Throws ShapeError for an extent
  // below 1 or heads % kv_heads != 0; Error where libtorch is missing, cannot be loaded, or knows
  // neither the device nor the dtype (1.13: f16), with the remedy.
  explicit TorchAttention(const TorchProblem& problem);

  // q [batch, heads, head_dim] in q_dtype, where keys and values are. On a GPU it returns before
  // the work is done, in the order of the device's stream. Allocates its intermediates and its
  // result, as libtorch does. Sets the calling thread's OpenMP team to problem.threads. Throws
  // Error with libtorch's message where libtorch fails.
  void run(const void* q);
  // What run() computed: out [batch, heads, head_dim] of the host, f32.
  void read(float* out);

  // For records: version, function and the kernel it ends in, such as "torch 2.15.0
  // scaled_dot_product_attention, CPU flash kernel".
  [[nodiscard]] std::string description() const { return operator_->description(); }

 private:
  std::unique_ptr<TorchOperator> operator_;
};

}  // namespace reprise::baselines
