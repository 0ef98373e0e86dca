// Reads comma-separated values as defined by RFC 4180.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace reprise::workloads::questions {

struct CsvRow {
  int64_t line = 1;  // line of the file on which the row begins
  std::vector<std::string> fields;
};

// A field in double quotes may hold commas, line breaks and doubled quotes. Rows end with LF or
// CRLF. Throws Error with file and line for an unclosed quote, text after a closing quote, and a
// file without rows.
std::vector<CsvRow> read_csv(const std::filesystem::path& path);

}  // namespace reprise::workloads::questions
