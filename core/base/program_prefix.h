// The folder to which the running program belongs, from which it finds its own files.
#pragma once

#include <filesystem>

namespace reprise {

// The folder that contains bin/NAME of the running program, with symbolic links resolved: a build,
// or an installation, which may have been moved. Throws Error if /proc does not exist.
std::filesystem::path program_prefix();

}  // namespace reprise
