// Tables of comma-separated values, as RFC 4180 writes them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace reprise::workloads::questions {

struct CsvRow {
  int64_t line = 1;  // of the file, where the row begins
  std::vector<std::string> fields;
};

// Fields stand between commas; one in double quotes may hold commas, line breaks and, doubled,
// quotes. Rows end with LF or CRLF. Throws Error with file and line for a quote that is not closed,
// for text behind a closing quote, and for a file without a row.
std::vector<CsvRow> read_csv(const std::filesystem::path& path);

}  // namespace reprise::workloads::questions
