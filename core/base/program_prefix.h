// The folder that contains the running program, from which it finds its own files.
#pragma once

#include <filesystem>

namespace reprise {

// Returns the folder that contains bin/NAME of the running program, with symbolic links resolved.
// This is a build folder or an installation, which may have been moved. Throws Error if /proc does
// not exist.
std::filesystem::path program_prefix();

}  // namespace reprise
