#include "core/base/torch_module.h"

#include <dlfcn.h>

#include "core/base/error.h"
#include "core/base/program_prefix.h"

namespace reprise {

std::filesystem::path torch_module_path(const std::string& file) {
  return program_prefix() / "lib" / "reprise" / file;
}

TorchModule load_torch_module(const std::string& version, const std::string& file,
                              const char* symbol, const std::string& what) {
  if (version.empty())
    return {
        .absence = fmt::format(
            "This program was built without libtorch, which {}. Run ./setup.sh --torch (or "
            "set REPRISE_TORCH to the torch folder of a wheel), then configure and build again.",
            what)};
  const std::filesystem::path path = torch_module_path(file);
  if (std::error_code error; !std::filesystem::exists(path, error))
    return {.absence = fmt::format(
                "{} libtorch, but {}, the part of this program that uses it, is not there. "
                "Packages come without it: run ./setup.sh --torch in a source tree and build the "
                "program there.",
                what, path.string())};
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (module == nullptr)
    return {.absence = fmt::format(
                "libtorch {} cannot be loaded: {}. A wheel needs libcudart and libcupti of the "
                "same CUDA release beside it (pip packages nvidia-cuda-runtime and "
                "nvidia-cuda-cupti); ./setup.sh --torch installs all of it.",
                version, dlerror())};
  void* found = dlsym(module, symbol);
  REPRISE_CHECK(found != nullptr, "{} has no {}", path.string(), symbol);
  return {.symbol = found, .absence = ""};
}

}  // namespace reprise
