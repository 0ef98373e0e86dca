#include "core/base/torch_module.h"

#include <dlfcn.h>

#include "core/base/error.h"

namespace reprise {

TorchModule load_torch_module(const std::string& version, const char* path, const char* symbol,
                              const std::string& what) {
  if (version.empty())
    return {
        .absence = fmt::format(
            "This program was built without libtorch, which {}. Run ./setup.sh --torch (or "
            "set REPRISE_TORCH to the torch folder of a wheel), then configure and build again.",
            what)};
  void* module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (module == nullptr)
    return {.absence = fmt::format(
                "libtorch {} cannot be loaded: {}. A wheel needs libcudart and libcupti of the "
                "same CUDA release beside it (pip packages nvidia-cuda-runtime and "
                "nvidia-cuda-cupti); ./setup.sh --torch installs all of it.",
                version, dlerror())};
  void* found = dlsym(module, symbol);
  REPRISE_CHECK(found != nullptr, "{} has no {}", path, symbol);
  return {.symbol = found, .absence = ""};
}

}  // namespace reprise
