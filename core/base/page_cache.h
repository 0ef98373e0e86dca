// Files in and out of the system's page cache, for measurements that begin with a cold disk.
#pragma once

#include <cstdint>
#include <filesystem>

namespace reprise {

// Asks the system to forget a file's pages, once they are written; those that somebody has mapped
// and touched stay. Returns the bytes that are in memory still: 0 where the file is cold. Throws
// Error where the file cannot be opened.
int64_t drop_from_page_cache(const std::filesystem::path& path);

// Reads a file from its beginning to its end as a stream and returns its bytes. Throws Error where
// it cannot be read.
int64_t read_through(const std::filesystem::path& path);

}  // namespace reprise
