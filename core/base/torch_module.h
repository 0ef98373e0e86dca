// Loads what was compiled against libtorch, apart from the program.
#pragma once

#include <string>

namespace reprise {

// One symbol of a loaded module, or why there is none, with the remedy.
struct TorchModule {
  void* symbol = nullptr;
  std::string absence;  // "" where there is a symbol
};

// Loads the shared library `path`, which stays loaded. `version`: of the libtorch that it was built
// with, "" where the program was built without; `what` ends "built without libtorch, which ...":
// "the baselines of PyTorch need". Linking libtorch to the program instead would load its 450 MB at
// each start and mix up two oneDNNs: the one inside a wheel exports template instances that ours
// exports too (the once-functions of its GEMM's set-up), so that either may run the other's code;
// here libtorch sees its own first. A module without the symbol is a mistake of ours (CHECK).
TorchModule load_torch_module(const std::string& version, const char* path, const char* symbol,
                              const std::string& what);

}  // namespace reprise
