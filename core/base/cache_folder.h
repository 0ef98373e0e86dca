// The folder for cached files, which may be deleted at any time and are then made again.
#pragma once

#include <filesystem>

namespace reprise {

// ${XDG_CACHE_HOME:-~/.cache}/reprise; empty if neither XDG_CACHE_HOME nor HOME is set. The folder
// need not exist.
std::filesystem::path cache_folder();

}  // namespace reprise
