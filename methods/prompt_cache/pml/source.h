// A PML file in memory, with the line and column of each byte, the limits of its size, and the list
// of problems found in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/problems.h"

namespace reprise::pml {

// White space of XML.
inline constexpr std::string_view kBlank = " \t\n\r";

// A place in a file. Both numbers count from 1; columns count characters, not bytes.
struct Place {
  int32_t line = 1, column = 1;
};

// "FILE:LINE:COLUMN"
[[nodiscard]] std::string at(const std::string& file, Place place);

// Limits of the size of an input, so that no input can exhaust the machine. An input beyond a limit
// is an error that names the limit.
struct Limits {
  size_t file_bytes = size_t{16} << 20;  // size of a schema or prompt file
  size_t src_bytes = size_t{64} << 20;   // total size of the src= files of one schema
  int32_t depth = 64;                    // nesting of elements
  int64_t elements = 50'000;             // elements in one file
  size_t path_bytes = 1000;              // length of a module's path
  int64_t positions = int64_t{1} << 22;  // positions of one schema
};

class Source {
 public:
  // `name` is used in messages. Files named by src= are looked up in `folder`; if it is empty, src=
  // is refused.
  Source(std::string name, std::string text, std::filesystem::path folder = {});
  // Reads a file. Throws Error naming the path if it cannot be read or is too large.
  static Source read(const std::filesystem::path& path, const Limits& limits = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  // Place of the byte at `offset`; offsets beyond the text give its end. Takes O(log lines).
  [[nodiscard]] Place place_of(size_t offset) const;

 private:
  [[nodiscard]] size_t characters_before(size_t offset) const;

  std::string name_, text_;
  std::filesystem::path folder_;
  std::vector<size_t> line_starts_;
  std::vector<size_t> characters_;  // characters before every kStride-th byte, then the total
};

// The problems of one file, each with its place.
class Report {
 public:
  explicit Report(std::string file) : file_(std::move(file)) {}

  // Keeps "FILE:LINE:COLUMN: sentence". The hundredth problem throws all of them.
  void add(Place place, std::string_view sentence);
  [[nodiscard]] bool is_empty() const { return problems_.list().empty(); }
  [[nodiscard]] const std::string& file() const { return file_; }
  void raise_if_any() const { problems_.raise_if_any(); }

 private:
  std::string file_;
  Problems problems_;
};

// The message of unknown_name(), for names read from files: a list of more than 40 candidates is
// counted instead of printed.
[[nodiscard]] std::string unknown(std::string_view what, std::string_view name,
                                  const std::vector<std::string>& candidates);

}  // namespace reprise::pml
