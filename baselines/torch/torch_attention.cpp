#include "baselines/torch/torch_attention.h"

#include <exception>
#include <utility>

#include "core/base/error.h"
#include "core/base/torch_module.h"
#include "core/device/memory.h"

namespace reprise::baselines {
namespace {

const TorchModule& torch_module() {
  static const TorchModule module = load_torch_module(
      torch_version(), kTorchAttentionModule, kTorchFunctions, "the baselines of PyTorch need");
  return module;
}

const TorchFunctions& torch_functions() {
  return *static_cast<const TorchFunctions*>(torch_module().symbol);
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

// Calls libtorch and turns its exceptions into Error, or into MemoryError if their text says that
// memory was lacking on the device or the host. Only the first line of a message is kept; a stack
// trace follows it.
template <typename Call>
decltype(auto) call_torch(Call&& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    const std::string said = error.what();
    const std::string text = fmt::format("attention by libtorch {} failed: {}", torch_version(),
                                         said.substr(0, said.find('\n')));
    for (const char* lack : {"out of memory", "can't allocate memory"})
      if (said.find(lack) != std::string::npos) throw MemoryError(text, /*need_bytes=*/0);
    throw Error(text);
  }
}

}  // namespace

std::string torch_version() { return REPRISE_TORCH_VERSION; }

std::string torch_absence(Device memory) {
  if (!torch_module().absence.empty() || memory == Device::kCpu) return torch_module().absence;
  static const std::string absence =
      call_torch([] { return std::string(torch_functions().cuda_absence()); });
  if (absence.empty()) return "";
  return fmt::format(
      "libtorch {} does not compute on CUDA devices here: {}. Configure with "
      "-DREPRISE_TORCH=FOLDER, the torch folder of a wheel for CUDA, with which "
      "torch.cuda.is_available(), and build again (./setup.sh --torch brings one for CPUs).",
      torch_version(), absence);
}

std::span<const TorchBaseline> torch_baselines() {
  static constexpr TorchBaseline kMethods[] = {
      {"torch_naive", TorchKernel::kNaive, "libtorch: bmm, softmax, bmm over all scores"},
      {"torch_sdpa", TorchKernel::kSdpa, "libtorch: scaled_dot_product_attention (flash in 2.x)"},
      {"torch_memory_efficient", TorchKernel::kMemoryEfficient,
       "libtorch: softmax over chunks of keys, one after the other"}};
  return kMethods;
}

TorchAttention::TorchAttention(const TorchProblem& problem) {
  check_shape(problem);
  if (const std::string absence = torch_absence(problem.device.memory); !absence.empty())
    raise("{}", absence);
  operator_.reset(call_torch([&] { return torch_functions().make(problem); }));
}

void TorchAttention::run(const void* q) {
  call_torch([&] { operator_->run(q); });
}

void TorchAttention::read(float* out) {
  call_torch([&] { operator_->read(out); });
}

}  // namespace reprise::baselines
