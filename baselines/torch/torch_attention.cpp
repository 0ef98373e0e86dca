#include "baselines/torch/torch_attention.h"

#include <exception>
#include <utility>

#include "core/base/error.h"
#include "core/base/torch_module.h"

namespace reprise::baselines {
namespace {

const TorchModule& torch_module() {
  static const TorchModule module = load_torch_module(
      torch_version(), REPRISE_TORCH_MODULE, kTorchOperatorMaker, "the baselines of PyTorch need");
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
  const auto make = reinterpret_cast<TorchOperatorMaker>(torch_module().symbol);
  operator_.reset(call_torch([&] { return make(problem); }));
}

void TorchAttention::run(const float* q, float* out) {
  call_torch([&] { operator_->run(q, out); });
}

}  // namespace reprise::baselines
