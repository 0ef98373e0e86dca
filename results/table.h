// Aligned columns for the terminal, and numbers short enough to read in them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise::results {

class Table {
 public:
  enum class Align : uint8_t { kLeft, kRight };
  void column(const std::string& heading, Align align = Align::kLeft);
  // One cell for each column (CHECK). Texts may come from files: see visible().
  void row(std::vector<std::string> cells);
  // Lines end with '\n'; the heading is underlined. "" without rows.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::string> headings_;
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

// Three significant digits, without exponents up to a million: 0.00123, 1.23, 12.3, 123, 12345.
std::string short_number(double value);

}  // namespace reprise::results
