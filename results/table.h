// Aligned columns for the terminal, the same cells as CSV and Markdown, and numbers and lines short
// enough to read.
#pragma once

#include <cstddef>
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
  // Lines end with '\n'; the heading is underlined. "" without rows. Where they are longer than
  // `most` columns, cells of the left-aligned columns behind the first continue below, broken
  // between words; what cannot be broken stays as wide as it is.
  [[nodiscard]] std::string text(size_t most = SIZE_MAX) const;
  [[nodiscard]] std::string markdown() const;
  // RFC 4180: commas, quotes doubled, the headings first.
  [[nodiscard]] std::string csv() const;
  // Columns of the terminal that each column takes, and those between two of them.
  [[nodiscard]] std::vector<size_t> widths() const;
  static constexpr size_t kGap = 2;
  static constexpr size_t kLeastWrapped = 12;  // columns that wrapping leaves to a cell
  [[nodiscard]] size_t width() const;          // of all
  // The columns of these places alone, in that order.
  [[nodiscard]] Table with_columns(const std::vector<size_t>& places) const;

 private:
  [[nodiscard]] std::vector<size_t> widths_within(size_t most) const;

  std::vector<std::string> headings_;
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

// Three significant digits, without exponents up to a million: 0.00123, 1.23, 12.3, 123, 12345.
std::string short_number(double value);

// The lines of `text` broken between words so that none is longer than `width` columns, where a
// word is no longer; what continues a line is indented by two.
std::string wrapped(const std::string& text, size_t width);

}  // namespace reprise::results
