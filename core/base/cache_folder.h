// The folder for cached files. These may be deleted at any time and are then made again.
#pragma once

#include <filesystem>

namespace reprise {

// Returns ${XDG_CACHE_HOME:-~/.cache}/reprise, or an empty path if neither XDG_CACHE_HOME nor HOME
// is set. The folder need not exist.
std::filesystem::path cache_folder();

}  // namespace reprise
