// Files of a folder of results, which somebody else may have made.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/json.h"

namespace reprise::results {

// The largest text of a file, and of all its records when each has what its run shares with it.
inline constexpr size_t kMostResultsBytes = size_t{1} << 30;

// The whole text of a file, unpacked where its name ends in ".gz". Throws Error naming it where it
// is no regular file or a link to one (a pipe would be waited for without end), cannot be read, is
// larger than kMostResultsBytes or is damaged.
[[nodiscard]] std::string read_results_file(const std::filesystem::path& path);
// read_results_file(), parsed. Throws Error also where the text is no JSON document.
[[nodiscard]] Json read_results_json(const std::filesystem::path& path);

}  // namespace reprise::results
