// Reads files of a results folder, which somebody else may have made.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/value.h"

namespace reprise::results {

// Upper bound in bytes on the text of one file, and on the text that its run entries add to its
// records (results/run_entry.h).
inline constexpr size_t kMostResultsBytes = size_t{1} << 30;

// Reads the whole file, unpacked if its name ends in ".gz". Throws Error naming it if it is not a
// regular file or a link to one (reading a pipe would wait forever), cannot be read, is larger than
// kMostResultsBytes or is damaged.
[[nodiscard]] std::string read_results_file(const std::filesystem::path& path);
// Reads a file that is one JSON document. Throws as read_results_file(), and Error if the text is
// no JSON.
[[nodiscard]] Value read_results_json(const std::filesystem::path& path);

}  // namespace reprise::results
