#include "baselines/torch/torch_attention.h"

#include <dlfcn.h>

#include <exception>
#include <utility>

#include "core/base/error.h"

namespace reprise::baselines {
namespace {

struct Module {
  TorchOperatorMaker make = nullptr;
  std::string absence;  // why there is no maker
};

// Loads the module, which stays loaded. Linking it to the program instead would load libtorch's 450
// MB at each start and mix up two oneDNNs: the one inside a wheel exports template instances that
// ours exports too (the once-functions of its GEMM's set-up), so that either may run the other's
// code. RTLD_DEEPBIND makes libtorch see its own first.
Module load_module() {
  if (torch_version().empty())
    return {.absence =
                "This program was built without libtorch, which the baselines of PyTorch need. "
                "Run ./setup.sh --torch (or set REPRISE_TORCH to the torch folder of a wheel), "
                "then configure and build again."};
  void* module = dlopen(REPRISE_TORCH_MODULE, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (module == nullptr)
    return {.absence = fmt::format(
                "libtorch {} cannot be loaded: {}. A wheel needs libcudart and libcupti of the "
                "same CUDA release beside it (pip packages nvidia-cuda-runtime and "
                "nvidia-cuda-cupti); ./setup.sh --torch installs all of it.",
                torch_version(), dlerror())};
  void* maker = dlsym(module, kTorchOperatorMaker);
  REPRISE_CHECK(maker != nullptr, "{} has no {}", REPRISE_TORCH_MODULE, kTorchOperatorMaker);
  return {.make = reinterpret_cast<TorchOperatorMaker>(maker), .absence = ""};
}

const Module& torch_module() {
  static const Module module = load_module();
  return module;
}

void check_shape(const TorchProblem& problem) {
  for (const auto& [name, extent] :
       {std::pair{"batch", problem.batch}, std::pair{"heads", problem.heads},
        std::pair{"kv_heads", problem.kv_heads}, std::pair{"tokens", problem.tokens},
        std::pair{"head_dim", problem.head_dim}, std::pair{"threads", int64_t{problem.threads}}})
    if (extent < 1)
      raise_shape("attention by libtorch: {} is {}, but must be at least 1", name, extent);
  if (problem.heads % problem.kv_heads != 0)
    raise_shape("attention by libtorch: {} heads are not a multiple of {} KV heads", problem.heads,
                problem.kv_heads);
}

// Calls libtorch, whose exceptions carry a stack trace after the first line.
template <typename Call>
decltype(auto) call_torch(Call&& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    raise("attention by libtorch {} failed: {}", torch_version(), text.substr(0, text.find('\n')));
  }
}

}  // namespace

std::string torch_version() { return REPRISE_TORCH_VERSION; }

const std::string& torch_absence() { return torch_module().absence; }

std::span<const TorchMethod> torch_methods() {
  static constexpr TorchMethod kMethods[] = {
      {"torch_naive", TorchKernel::kNaive, "libtorch: bmm, softmax, bmm over all scores"},
      {"torch_sdpa", TorchKernel::kSdpa, "libtorch: scaled_dot_product_attention (flash in 2.x)"},
      {"torch_memory_efficient", TorchKernel::kMemoryEfficient,
       "libtorch: softmax over chunks of keys, one after the other"}};
  return kMethods;
}

TorchAttention::TorchAttention(const TorchProblem& problem) {
  check_shape(problem);
  if (!torch_absence().empty()) raise("{}", torch_absence());
  operator_.reset(call_torch([&] { return torch_module().make(problem); }));
}

void TorchAttention::run(const float* q, float* out) {
  call_torch([&] { operator_->run(q, out); });
}

}  // namespace reprise::baselines
