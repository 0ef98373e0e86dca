// Reads tables of tab-separated columns, the usual form of sentence data sets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::workloads::sentences {

struct TableLine {
  int64_t number = 1;  // line in the file, from 1
  std::vector<std::string> columns;
};

// Lines end with LF or CRLF; other line breaks and quotes are part of a text. Empty lines at the
// end and a byte order mark are skipped. Throws Error naming the file if it has no line, and the
// line if it is not UTF-8.
std::vector<TableLine> read_table_lines(const std::filesystem::path& path);

// Returns the files of a folder that `is_one` accepts, sorted. Throws Error if the folder cannot be
// read.
std::vector<std::filesystem::path> files_of(
    const std::filesystem::path& folder,
    const std::function<bool(const std::filesystem::path& file)>& is_one);

// Returns the file's name behind the name of its folder, e.g. "sts13/headlines.test.tsv".
std::string short_name(const std::filesystem::path& file);

// True if one of the line's columns is `name`.
bool has_column(const TableLine& line, std::string_view name);

// Returns the text without spaces at both ends.
std::string trimmed(std::string_view text);

// Parses all of `text` as a number. Throws Error with `where` and the text for anything else, and
// for a number outside [low, high].
double number_of(std::string_view text, double low, double high, const std::string& where);

}  // namespace reprise::workloads::sentences
