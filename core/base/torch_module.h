// Loads shared libraries of ours that use libtorch. The program itself is not linked to libtorch:
// its 450 MB would be loaded at each start, and the oneDNN inside it exports the same template
// instances as ours, so either might run the other's code. (With RTLD_DEEPBIND libtorch finds its
// own first.)
#pragma once

#include <string>

namespace reprise {

// A symbol of a loaded module, or the reason why there is none, with the remedy.
struct TorchModule {
  void* symbol = nullptr;
  std::string absence;  // "" if there is a symbol
};

// Loads the shared library `path`, which stays loaded, and looks up `symbol`. `version`: libtorch's
// version at build time, "" if the build had none. `what` completes the error "built without
// libtorch, which ...", such as "the baselines of PyTorch need". A module that lacks the symbol
// fails a CHECK.
TorchModule load_torch_module(const std::string& version, const char* path, const char* symbol,
                              const std::string& what);

}  // namespace reprise
