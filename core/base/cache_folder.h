// The folder of files that may be deleted at any time, at the price of making them again.
#pragma once

#include <filesystem>

namespace reprise {

// ${XDG_CACHE_HOME:-~/.cache}/reprise; empty if neither variable is set. It need not exist.
std::filesystem::path cache_folder();

}  // namespace reprise
