// Files of a folder of results, which somebody else may have made.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/json.h"

namespace reprise::results {

// The whole file. Throws Error naming it where it is no regular file or a link to one (a pipe would
// be waited for without end) or cannot be read.
[[nodiscard]] std::string read_results_file(const std::filesystem::path& path);
// The same of a JSON document. Throws Error too where it is none.
[[nodiscard]] Json read_results_json(const std::filesystem::path& path);

}  // namespace reprise::results
