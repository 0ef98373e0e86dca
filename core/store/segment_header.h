// Writes and reads the header of a segment file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "core/store/segment_file.h"

namespace reprise::kv {

// The beginning of a file in the newest format: magic, length, hash and JSON.
std::string header_text(const SegmentFileHeader& header);

struct ParsedHeader {
  SegmentFileHeader header;
  size_t data_begin = 0;  // offset of the states from the file's beginning
};

// Reads the header of format 1 or 2 from `file`, the bytes of the whole file, and checks that the
// file has the size that the header implies. Throws Error naming the path.
ParsedHeader read_header(const std::filesystem::path& path, std::span<const std::byte> file);

// Throws Error: "PATH is no sound segment file: FAULT. ..."
[[noreturn]] void refuse_file(const std::filesystem::path& path, const std::string& fault);

}  // namespace reprise::kv
