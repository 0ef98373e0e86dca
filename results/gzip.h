// Reads results files that are packed with gzip, as those of results/measurements are.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace reprise::results {

// True if the file's name ends in ".gz".
[[nodiscard]] bool is_packed(const std::filesystem::path& path);

// The name without its ending ".gz"; any other name unchanged.
[[nodiscard]] std::filesystem::path unpacked_name(const std::filesystem::path& path);

// Unpacks `bytes`, the contents of the gzip file `path`; the texts of several members are joined.
// Stops unpacking once the text exceeds `max_bytes`. Throws Error naming the file and the remedy if
// the file is no gzip file, is damaged or cut short, or if its text is larger than `max_bytes`.
[[nodiscard]] std::string unpacked(std::string_view bytes, const std::filesystem::path& path,
                                   size_t max_bytes);

}  // namespace reprise::results
