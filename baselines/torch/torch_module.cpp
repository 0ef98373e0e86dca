// The module that computes attention with libtorch. No other file includes libtorch's headers. This
// file includes no header that includes fmt, because libtorch's folder has another version of fmt.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

#include "baselines/torch/torch_attention.h"

#if __has_include(<ATen/ops/scaled_dot_product_attention.h>)
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#define REPRISE_TORCH_FUSED 1  // libtorch 2.x; 1.13 has no kernels that fuse the operations
#endif

namespace reprise::baselines {
namespace {

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return at::kBFloat16;
    case DType::kF16:
      return at::kHalf;
    case DType::kF32:
      break;
  }
  return at::kFloat;
}

at::Device device_of(const TorchProblem& problem) {
  if (problem.device.memory == Device::kCpu) return at::kCPU;
  return {at::kCUDA, static_cast<c10::DeviceIndex>(problem.device.ordinal)};
}

// A view of memory that libtorch only reads.
at::Tensor view_of(const void* data, at::IntArrayRef shape, at::ScalarType type,
                   at::Device device) {
  return at::for_blob(const_cast<void*>(data), shape)
      .options(at::TensorOptions(type).device(device))
      .target_device(device)
      .make_tensor();
}

// While this object lives, libtorch's work on the problem's device goes to the problem's stream,
// and libtorch records nothing for gradients.
class InOrder {
 public:
  explicit InOrder(const TorchProblem& problem) {
    const at::Device device = device_of(problem);
    // libtorch identifies a stream that it did not create by the stream's address
    // (c10/cuda/CUDAStream.cpp, getStreamFromExternal()).
    if (device.is_cuda())
      guard_.emplace(c10::Stream(c10::Stream::UNSAFE, device,
                                 reinterpret_cast<c10::StreamId>(problem.device.stream)));
  }

 private:
  c10::InferenceMode no_gradients_;
  std::optional<c10::StreamGuard> guard_;
};

// Sets libtorch's number of threads, which other code may have changed through OpenMP.
void use_threads(int threads) {
  if (at::get_num_threads() != threads) at::set_num_threads(threads);
}

// Returns q k^T as [n, rows, tokens] from q [n, rows, d], already scaled, and k [n, tokens, d]. In
// f32 and for one row, MKL's k q^T is 1.4 to 1.6 times as fast as its q k^T. In bf16, which oneDNN
// computes, both are equally fast for one row, and q k^T is a tenth faster for eight rows.
at::Tensor scores(const at::Tensor& q, const at::Tensor& k) {
  if (q.scalar_type() == at::kFloat) return at::bmm(k, q.transpose(1, 2)).transpose(1, 2);
  return at::bmm(q, k.transpose(1, 2));
}

// The tokens [first, end) of k or v [kv_heads, tokens, d]. bf16 and f16 are copied, because
// libtorch's bmm (2.15) is 10 to 20 times slower on batches with gaps than on packed ones.
at::Tensor chunk_of(const at::Tensor& cache, int64_t first, int64_t end) {
  const at::Tensor chunk = cache.narrow(1, first, end - first);
  return cache.scalar_type() == at::kFloat ? chunk : chunk.contiguous();
}

// The base class of the operators. Makes the views of keys and values once. The query heads that
// share a KV head become query rows of that head.
class Operator : public TorchOperator {
 public:
  explicit Operator(const TorchProblem& problem)
      : problem_(problem),
        type_(scalar_type(problem.dtype)),
        device_(device_of(problem)),
        keys_(view_of(problem.keys, cache_shape(), type_, device_)),
        values_(view_of(problem.values, cache_shape(), type_, device_)) {
    at::set_num_threads(problem.threads);
  }

  void run(const void* q) final {
    const InOrder in_order(problem_);
    use_threads(problem_.threads);
    result_ = attend(view_of(q, query_shape(), scalar_type(problem_.q_dtype), device_));
  }

  void read(float* out) final {
    const InOrder in_order(problem_);
    view_of(out, query_shape(), at::kFloat, at::kCPU).copy_(result_);
  }

  [[nodiscard]] const char* description() const final { return description_.c_str(); }

 protected:
  // q and the result are [batch, kv_heads, heads / kv_heads, head_dim].
  virtual at::Tensor attend(const at::Tensor& q) const = 0;

  void describe(const std::string& function) {
    description_ = "torch " REPRISE_TORCH_VERSION " " + function;
  }

  [[nodiscard]] std::array<int64_t, 4> query_shape() const {
    return {problem_.batch, problem_.kv_heads, problem_.heads / problem_.kv_heads,
            problem_.head_dim};
  }
  [[nodiscard]] std::array<int64_t, 4> cache_shape() const {
    return {problem_.batch, problem_.kv_heads, problem_.tokens, problem_.head_dim};
  }

  TorchProblem problem_;
  at::ScalarType type_;
  at::Device device_;
  at::Tensor keys_, values_;  // [batch, kv_heads, tokens, head_dim]
  at::Tensor result_;
  std::string description_;
};

class Naive final : public Operator {
 public:
  explicit Naive(const TorchProblem& problem) : Operator(problem) {
    describe("bmm, softmax, bmm over the full score matrix");
  }

 private:
  at::Tensor attend(const at::Tensor& q) const override {
    const at::Tensor weights = at::softmax(scaled_scores(q), -1);
    return at::bmm(weights, values_.flatten(0, 1)).view(query_shape());
  }

  [[nodiscard]] at::Tensor scaled_scores(const at::Tensor& q) const {
    const at::Tensor keys = keys_.flatten(0, 1);
    if (q.scalar_type() == at::kFloat)
      return scores((q * problem_.scale).to(type_).flatten(0, 1), keys);
    // The scale is a factor of the product, so that rounded queries are not scaled and rounded
    // again.
    const at::Tensor nothing = at::empty({1, 1, 1}, q.options());
    return at::baddbmm(nothing, q.flatten(0, 1), keys.transpose(1, 2), /*beta=*/0,
                       /*alpha=*/problem_.scale);
  }
};

class Sdpa final : public Operator {
 public:
  explicit Sdpa(const TorchProblem& problem) : Operator(problem) {
    describe("scaled_dot_product_attention, " + backend());
  }

 private:
#ifdef REPRISE_TORCH_FUSED
  at::Tensor attend(const at::Tensor& q) const override {
    return at::scaled_dot_product_attention(q.to(type_), keys_, values_, {}, 0.0,
                                            /*is_causal=*/false, problem_.scale);
  }

  // The backend that the dispatcher would choose for these tensors (at::SDPBackend).
  [[nodiscard]] std::string backend() const {
    const at::Tensor q = at::zeros(query_shape(), keys_.options());
    const int64_t choice =
        at::_fused_sdp_choice(q, keys_, values_, {}, 0.0, /*is_causal=*/false, problem_.scale);
    constexpr const char* kNames[] = {"math (full score matrix)", "flash kernel",
                                      "memory-efficient kernel", "cuDNN's kernel"};
    if (choice < 0 || choice >= std::ssize(kNames)) return "backend " + std::to_string(choice);
    return (device_.is_cpu() && choice == 1 ? "CPU " : "") + std::string(kNames[choice]);
  }
#else
  // libtorch 1.13 itself scales the scores by 1 / sqrt(head_dim): it multiplies the queries and a
  // copy of the keys each by the square root of that. So the queries are first multiplied by the
  // rest of the problem's scale.
  at::Tensor attend(const at::Tensor& q) const override {
    const float rest = problem_.scale * std::sqrt(static_cast<float>(problem_.head_dim));
    return std::get<0>(
        at::_scaled_dot_product_attention((q * rest).to(type_), keys_, values_, {}, 0.0,
                                          /*need_attn_weights=*/false, /*is_causal=*/false));
  }

  [[nodiscard]] static std::string backend() { return "math (full score matrix)"; }
#endif
};

#ifdef REPRISE_TORCH_FUSED
// kMemoryEfficient on a GPU.
class MemoryEfficientKernel final : public Operator {
 public:
  explicit MemoryEfficientKernel(const TorchProblem& problem) : Operator(problem) {
    describe("scaled_dot_product_attention, memory-efficient kernel");
  }

 private:
  at::Tensor attend(const at::Tensor& q) const override {
    return std::get<0>(at::_scaled_dot_product_efficient_attention(
        q.to(type_), keys_, values_, {}, /*compute_log_sumexp=*/false, 0.0, /*is_causal=*/false,
        problem_.scale));
  }
};
#endif

class MemoryEfficient final : public Operator {
 public:
  explicit MemoryEfficient(const TorchProblem& problem) : Operator(problem) {
    describe("chunked softmax after Rabe and Staats in libtorch operations, " +
             std::to_string(TorchAttention::kKeyChunk) + " keys of one sequence at a time");
  }

 private:
  at::Tensor attend(const at::Tensor& q) const override {
    const at::Tensor scaled = (q.to(at::kFloat) * problem_.scale).to(type_);
    at::Tensor out = at::empty(query_shape(), keys_.options().dtype(at::kFloat));
    for (int64_t sequence = 0; sequence < problem_.batch; ++sequence)
      out[sequence].copy_(attend_one(scaled[sequence], keys_[sequence], values_[sequence]));
    return out;
  }

  // Attention of one sequence: q [kv_heads, rows, d], k and v [kv_heads, tokens, d]. For the chunks
  // so far, m is the largest score, n the sum of the weights exp(score - m), and o the weighted sum
  // of values. They are merged with m', n' and o' of the next chunk by
  //   M = max(m, m')   o = exp(m - M) o + exp(m' - M) o'   n = exp(m - M) n + exp(m' - M) n'
  [[nodiscard]] static at::Tensor attend_one(const at::Tensor& q, const at::Tensor& k,
                                             const at::Tensor& v) {
    at::Tensor o, m, n;
    for (int64_t first = 0, end = 0; first < k.size(1); first = end) {
      const int64_t left = k.size(1) - first;
      end = first + (left < 3 * TorchAttention::kKeyChunk / 2 ? left : TorchAttention::kKeyChunk);
      const at::Tensor s = scores(q, chunk_of(k, first, end)).to(at::kFloat);
      at::Tensor largest = s.amax(-1, /*keepdim=*/true);
      if (first > 0) largest = at::maximum(largest, m);
      const at::Tensor p = (s - largest).exp_();
      at::Tensor sum = p.sum(-1, /*keepdim=*/true);
      at::Tensor part = at::bmm(p.to(v.scalar_type()), chunk_of(v, first, end)).to(at::kFloat);
      if (first > 0) {
        const at::Tensor shrink = (m - largest).exp_();
        part.add_(o * shrink);
        sum.add_(n * shrink);
      }
      o = part;
      m = largest;
      n = sum;
    }
    return o / n;
  }
};

TorchOperator* make_operator(const TorchProblem& problem) {
#ifndef REPRISE_TORCH_FUSED
  if (problem.dtype == DType::kF16)
    throw std::invalid_argument(
        "this version multiplies no f16 matrices on a CPU; take f32 or bf16, or a wheel of 2.x");
#endif
  const InOrder in_order(problem);
  switch (problem.kernel) {
    case TorchKernel::kNaive:
      return new Naive(problem);
    case TorchKernel::kMemoryEfficient:
#ifdef REPRISE_TORCH_FUSED
      if (problem.device.memory == Device::kCuda) return new MemoryEfficientKernel(problem);
#endif
      return new MemoryEfficient(problem);
    case TorchKernel::kSdpa:
      break;
  }
  return new Sdpa(problem);
}

// Loads libtorch_cuda.so from the folder of libtorch's other libraries. The library registers
// itself. It takes gigabytes, so a process that stays on the CPU does not load it.
const char* cuda_absence() {
  Dl_info torch{};
  if (dladdr(reinterpret_cast<const void*>(&at::get_num_threads), &torch) == 0)
    return "its libraries are nowhere";
  const std::string library = torch.dli_fname;
  const std::string folder = library.substr(0, library.rfind('/') + 1);
  if (dlopen((folder + "libtorch_cuda.so").c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) ==
      nullptr)
    return dlerror();
  return at::hasCUDA() ? "" : "it finds no device, or its driver is too old";
}

}  // namespace
}  // namespace reprise::baselines

extern "C" {
__attribute__((
    visibility("default"))) extern const reprise::baselines::TorchFunctions reprise_torch_functions;
const reprise::baselines::TorchFunctions reprise_torch_functions = {
    .make = reprise::baselines::make_operator, .cuda_absence = reprise::baselines::cuda_absence};
}
