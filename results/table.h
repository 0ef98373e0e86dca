// Tables for the terminal, as CSV and as Markdown, and short forms of numbers and lines.
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
  // Adds a row with one cell per column (CHECK). Cells may hold texts from files: see visible().
  void row(std::vector<std::string> cells);
  // Returns the table as lines that each end with a line feed, the heading underlined; "" if it has
  // no rows. If lines would be wider than `most` terminal columns, the cells of left-aligned
  // columns other than the first are wrapped between words. A word that is too long stays whole.
  [[nodiscard]] std::string text(size_t most = SIZE_MAX) const;
  [[nodiscard]] std::string markdown() const;
  // Returns CSV as in RFC 4180, headings first.
  [[nodiscard]] std::string csv() const;
  // Width of each column and of the gap between two, in terminal columns.
  [[nodiscard]] std::vector<size_t> widths() const;
  static constexpr size_t kGap = 2;
  static constexpr size_t kLeastWrapped = 12;  // narrowest column that wrapping leaves
  [[nodiscard]] size_t width() const;          // width of the whole table
  // Returns a table of only the columns at these places, in that order.
  [[nodiscard]] Table with_columns(const std::vector<size_t>& places) const;

 private:
  [[nodiscard]] std::vector<size_t> widths_within(size_t most) const;

  std::vector<std::string> headings_;
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns the number with at least three significant digits: 0.00123, 1.23, 12.3, 123, 12345. Uses
// an exponent from a million on and below 0.0001.
std::string short_number(double value);

// Breaks lines between words so that no line is longer than `width` characters, unless a single
// word is longer. Continuation lines are indented by two.
std::string wrapped(const std::string& text, size_t width);

}  // namespace reprise::results
