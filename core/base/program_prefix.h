// The folder to which the running program belongs, from which it finds its own files.
#pragma once

#include <filesystem>

namespace reprise {

// <prefix> of the running executable <prefix>/bin/NAME, with symbolic links resolved: the folder of
// an installation, wherever it was moved to, or of a build. Throws Error if /proc is not there.
std::filesystem::path program_prefix();

}  // namespace reprise
