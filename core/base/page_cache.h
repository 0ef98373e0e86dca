// Drops files from the system's page cache or reads them into it, for measurements with a
// cold or a warm page cache.
#pragma once

#include <cstdint>
#include <filesystem>

namespace reprise {

// Writes the file's changed pages to the disk and asks the system to drop all of its pages. Pages
// that a process has mapped and touched stay. Returns how many bytes of the file are still in
// memory: 0 if the file is cold. Throws Error if the file cannot be opened.
int64_t drop_from_page_cache(const std::filesystem::path& path);
// Like the function above, but drops only pages that lie wholly within bytes [offset_bytes,
// offset_bytes + bytes) of the file, and returns how much of this range is still in memory.
// `offset_bytes` is a multiple of the page size, and the range lies within the file (CHECK).
int64_t drop_from_page_cache(const std::filesystem::path& path, int64_t offset_bytes,
                             int64_t bytes);

// Reads a file from beginning to end, which brings it into the page cache. Returns its size in
// bytes. Throws Error if it cannot be read.
int64_t read_through(const std::filesystem::path& path);

}  // namespace reprise
