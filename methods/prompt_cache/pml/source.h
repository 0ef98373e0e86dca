// A PML file in memory: where each of its bytes stands, how much of it is accepted, and the
// problems found in it.
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

// Both count from 1; a column is a character, not a byte.
struct Place {
  int32_t line = 1, column = 1;
};

// "FILE:LINE:COLUMN"
[[nodiscard]] std::string at(const std::string& file, Place place);

// What a file may ask for. More is an error that names the limit, so that no input takes the
// machine with it.
struct Limits {
  size_t file_bytes = size_t{16} << 20;  // of a schema or a prompt
  size_t src_bytes = size_t{64} << 20;   // of all files that the src of one schema name
  int32_t depth = 64;                    // of elements inside each other
  int64_t elements = 50'000;             // of one file
  size_t path_bytes = 1000;              // of a module's path
  int64_t positions = int64_t{1} << 22;  // of one schema
};

class Source {
 public:
  // `name` stands in messages; relative src are looked up in `folder` ("": src is refused).
  Source(std::string name, std::string text, std::filesystem::path folder = {});
  // Throws Error naming the path where it cannot be read or is too large.
  static Source read(const std::filesystem::path& path, const Limits& limits = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  // Of the byte at `offset`, which may be the end. Takes the same time wherever it is.
  [[nodiscard]] Place place_of(size_t offset) const;

 private:
  [[nodiscard]] size_t characters_before(size_t offset) const;

  std::string name_, text_;
  std::filesystem::path folder_;
  std::vector<size_t> line_starts_;
  std::vector<size_t> characters_;  // before each kilobyte, so that a column is not counted anew
};

// The problems of one file, each with its place. The hundredth ends the reading.
class Report {
 public:
  explicit Report(std::string file) : file_(std::move(file)) {}

  // Keeps "FILE:LINE:COLUMN: sentence". Throws all of them once there are a hundred.
  void add(Place place, std::string_view sentence);
  [[nodiscard]] bool is_empty() const { return problems_.list().empty(); }
  [[nodiscard]] const std::string& file() const { return file_; }
  void raise_if_any() const { problems_.raise_if_any(); }

 private:
  std::string file_;
  Problems problems_;
};

// unknown_name() for names out of files: a long list of candidates is only counted.
[[nodiscard]] std::string unknown(std::string_view what, std::string_view name,
                                  const std::vector<std::string>& candidates);

}  // namespace reprise::pml
