// The text at the beginning of a segment file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "core/store/segment_file.h"

namespace reprise::kv {

// The beginning of a file of the newest format: magic, length, hash and JSON.
std::string header_text(const SegmentFileHeader& header);

struct ParsedHeader {
  SegmentFileHeader header;
  size_t data_begin = 0;  // of the states, from the begin of the file
};

// Reads the header of either format out of a whole file, and checks the file's size against it.
// Throws Error naming the path.
ParsedHeader read_header(const std::filesystem::path& path, std::span<const std::byte> file);

// Throws Error: "PATH is no sound segment file: FAULT. ..."
[[noreturn]] void refuse_file(const std::filesystem::path& path, const std::string& fault);

}  // namespace reprise::kv
