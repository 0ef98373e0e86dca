// Loads the shared libraries (modules) of this project that use libtorch. The program itself is not
// linked to libtorch, which would load 450 MB at each start. Modules are loaded with RTLD_DEEPBIND,
// so that libtorch finds the libraries that it contains before those of the program.
#pragma once

#include <filesystem>
#include <string>

namespace reprise {

// A symbol of a loaded module, or the reason why there is none, with the remedy.
struct TorchModule {
  void* symbol = nullptr;
  std::string absence;  // "" if there is a symbol
};

// File name of the module that has PyTorch's attention. It comes from the name of the CMake target.
inline constexpr const char* kTorchAttentionModule = "libreprise_torch.so";

// Returns <prefix>/lib/reprise/FILE for the running program <prefix>/bin/NAME. The file need not
// exist, since packages come without the modules.
std::filesystem::path torch_module_path(const std::string& file);

// Loads the module `file`, which stays loaded, and looks up `symbol`. `version`: libtorch's version
// at build time, "" if the build had none. `what` completes the error "built without libtorch,
// which ...", such as "the baselines of PyTorch need". CHECKs that the module has the symbol.
TorchModule load_torch_module(const std::string& version, const std::string& file,
                              const char* symbol, const std::string& what);

}  // namespace reprise
