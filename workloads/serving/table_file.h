// Reads tables of numbers and plain words separated by commas, line by line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::workloads::serving {

// One line of a table. Its error messages name the file, the line and the expected field.
class TableLine {
 public:
  TableLine(const std::string& file, int64_t number, std::string_view line);

  [[nodiscard]] int64_t number() const { return number_; }
  [[nodiscard]] size_t size() const { return fields_.size(); }
  // Throws Error if the line has no such field.
  [[nodiscard]] std::string_view text(size_t field, std::string_view name) const;
  // Throws Error unless the field is an integer from 0 to `most`.
  [[nodiscard]] int64_t integer(size_t field, std::string_view name, int64_t most) const;
  // Throws Error unless the field is a finite number >= 0.
  [[nodiscard]] double real(size_t field, std::string_view name) const;
  // Index of the field `name` in this line, which is a heading. Throws Error naming the nearest
  // field if there is none, and if there are two.
  [[nodiscard]] size_t column(const std::string& name) const;
  // Throws Error if the line has more than `fields` fields, for example because a number has a
  // comma inside.
  void require_at_most(size_t fields) const;
  [[nodiscard]] std::string where() const;  // "FILE:LINE"

 private:
  const std::string& file_;
  int64_t number_;
  std::vector<std::string_view> fields_;
};

// Lines end with LF or CRLF; the last line end is optional, and so is a byte order mark. Throws
// Error for a file that cannot be read or is empty, and for an empty line.
void for_each_table_line(const std::filesystem::path& path,
                         const std::function<void(const TableLine& line)>& read);

}  // namespace reprise::workloads::serving
