// Reads files of a results folder, which somebody else may have made.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/json.h"

namespace reprise::results {

// Reads the whole file. Throws Error naming it if it cannot be read or is not a regular file or a
// link to one (reading a pipe would wait forever).
[[nodiscard]] std::string read_results_file(const std::filesystem::path& path);
// Reads a JSON document. Throws Error also if it is not one.
[[nodiscard]] Json read_results_json(const std::filesystem::path& path);

}  // namespace reprise::results
