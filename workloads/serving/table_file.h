// Tables of numbers and plain words with commas between them, line by line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::workloads::serving {

// Messages name the file, the line and what the field should be.
class TableLine {
 public:
  TableLine(const std::string& file, int64_t number, std::string_view line);

  [[nodiscard]] int64_t number() const { return number_; }
  [[nodiscard]] size_t size() const { return fields_.size(); }
  // Throws Error where the line has no such field.
  [[nodiscard]] std::string_view text(size_t field, std::string_view name) const;
  // Throws Error for what is no whole number from 0 to `most`.
  [[nodiscard]] int64_t integer(size_t field, std::string_view name, int64_t most) const;
  // Throws Error for what is no finite number, 0 or above.
  [[nodiscard]] double real(size_t field, std::string_view name) const;
  [[nodiscard]] std::string where() const;  // "FILE:LINE"

 private:
  const std::string& file_;
  int64_t number_;
  std::vector<std::string_view> fields_;
};

// Lines end with LF or CRLF; the last one need not end. Throws Error for a file that cannot be read
// or holds nothing, and for an empty line.
void for_each_table_line(const std::filesystem::path& path,
                         const std::function<void(const TableLine& line)>& read);

}  // namespace reprise::workloads::serving
