// The lines of a text table whose columns stand between tabs, as data sets of sentences are given.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::workloads::sentences {

struct TableLine {
  int64_t number = 1;  // of the file, from 1
  std::vector<std::string> columns;
};

// Lines end with LF or CRLF alone (other line breaks belong to a text), quotes are text, and empty
// lines at the end are left out; a byte order mark is skipped. Throws Error naming the file where
// it has no line, and its line where that is not UTF-8.
std::vector<TableLine> read_table_lines(const std::filesystem::path& path);

// The files of a folder that `is_one` accepts, sorted. Throws Error where it cannot be read.
std::vector<std::filesystem::path> files_of(
    const std::filesystem::path& folder,
    const std::function<bool(const std::filesystem::path& file)>& is_one);

// The file's name with its folder's: "sts13/headlines.test.tsv".
std::string short_name(const std::filesystem::path& file);

// Whether one of the line's columns is `name`.
bool has_column(const TableLine& line, std::string_view name);

// Without spaces at both ends.
std::string trimmed(std::string_view text);

// The number that is all of `text`. Throws Error naming `where` and what stands there for anything
// else, and for a number outside [low, high].
double number_of(std::string_view text, double low, double high, const std::string& where);

}  // namespace reprise::workloads::sentences
