// Files of results may be packed with gzip, as those of results/measurements are.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace reprise::results {

// Whether the file's name ends in ".gz".
[[nodiscard]] bool is_packed(const std::filesystem::path& path);

// The name without ".gz" where it has that ending.
[[nodiscard]] std::filesystem::path unpacked_name(const std::filesystem::path& path);

// The text that `bytes`, the contents of the gzip file `path`, unpack to; members that follow one
// another unpack to one text. Throws Error naming the file and the remedy where it is no gzip file,
// is damaged or cut short, or unpacks to more than `max_bytes`, which are never exceeded in memory.
[[nodiscard]] std::string unpacked(std::string_view bytes, const std::filesystem::path& path,
                                   size_t max_bytes);

}  // namespace reprise::results
