// Files of a folder of results, which somebody else may have made.
#pragma once

#include <filesystem>
#include <string>

namespace reprise::results {

// The whole file. Throws Error naming it where it is no regular file or a link to one (a pipe would
// be waited for without end) or cannot be read.
[[nodiscard]] std::string read_results_file(const std::filesystem::path& path);

}  // namespace reprise::results
