#include "methods/torch/torch_attention.h"

#include <dlfcn.h>

#include <exception>
#include <utility>

#include "core/base/error.h"

namespace reprise::methods {
namespace {

// Loads the module, which stays loaded. Linking it to the program instead would load libtorch's 450
// MB at each start and mix up two oneDNNs: the one inside a wheel exports template instances that
// ours exports too (the once-functions of its GEMM's set-up), so that either may run the other's
// code. RTLD_DEEPBIND makes libtorch see its own first.
TorchOperatorMaker load_module() {
  if (!torch_available())
    raise(
        "This program was built without libtorch, which the baselines of PyTorch need. Run "
        "./setup.sh --torch (or set REPRISE_TORCH to the torch folder of a wheel), then configure "
        "and build again.");
  void* module = dlopen(REPRISE_TORCH_MODULE, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (module == nullptr)
    raise(
        "libtorch {} cannot be loaded: {}. A wheel needs libcudart and libcupti of the same CUDA "
        "release beside it (pip packages nvidia-cuda-runtime and nvidia-cuda-cupti); ./setup.sh "
        "--torch installs all of it.",
        torch_version(), dlerror());
  void* maker = dlsym(module, kTorchOperatorMaker);
  REPRISE_CHECK(maker != nullptr, "{} has no {}", REPRISE_TORCH_MODULE, kTorchOperatorMaker);
  return reinterpret_cast<TorchOperatorMaker>(maker);
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

bool torch_available() { return !torch_version().empty(); }

std::string torch_version() { return REPRISE_TORCH_VERSION; }

TorchAttention::TorchAttention(const TorchProblem& problem) {
  check_shape(problem);
  static const TorchOperatorMaker make = load_module();
  operator_.reset(call_torch([&] { return make(problem); }));
}

void TorchAttention::run(const float* q, float* out) {
  call_torch([&] { operator_->run(q, out); });
}

}  // namespace reprise::methods
