#include "results/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/utf8_byte.h"
#include "core/base/visible.h"

namespace reprise::results {
namespace {

// Terminal columns of UTF-8 text with one column per character.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

std::string padded(const std::string& text, size_t width, Table::Align align) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return align == Table::Align::kRight ? blanks + text : text + blanks;
}

// Breaks a cell between words and after commas.
std::vector<std::string> lines_of(const std::string& cell, size_t width) {
  std::vector<std::string> lines(1);
  for (size_t begin = 0; begin < cell.size();) {
    const size_t end = std::min(cell.find_first_of(" ,", begin), cell.size() - 1) + 1;
    const std::string piece = cell.substr(begin, end - begin);
    const size_t blank = piece.ends_with(' ') ? 1 : 0;
    if (!lines.back().empty() && width_of(lines.back()) + width_of(piece) - blank > width)
      lines.emplace_back();
    lines.back() += piece;
    begin = end;
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

size_t widest_of(const std::vector<std::string>& lines) {
  size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, width_of(line));
  return width;
}

size_t sum_of(const std::vector<size_t>& widths) {
  size_t sum = 0;
  for (const size_t width : widths) sum += width + (sum == 0 ? 0 : Table::kGap);
  return sum;
}

}  // namespace

void Table::column(const std::string& heading, Align align) {
  headings_.push_back(visible(heading, /*kept=*/""));
  aligns_.push_back(align);
}

void Table::row(std::vector<std::string> cells) {
  REPRISE_CHECK(cells.size() == headings_.size(), "{} cells, {} columns", cells.size(),
                headings_.size());
  for (std::string& cell : cells) cell = visible(cell, /*kept=*/"");
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::widths() const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < headings_.size(); ++c) {
    size_t width = width_of(headings_[c]);
    for (const auto& cells : rows_) width = std::max(width, width_of(cells[c]));
    widths.push_back(width);
  }
  return widths;
}

size_t Table::width() const { return sum_of(widths()); }

// Narrows columns until the table fits: each time the widest left-aligned column, other than the
// first, that is still wider than its words need.
std::vector<size_t> Table::widths_within(size_t most) const {
  std::vector<size_t> widths = this->widths(), least = widths;
  for (size_t c = 1; c < widths.size(); ++c) {
    if (aligns_[c] == Align::kRight) continue;
    least[c] = std::max(kLeastWrapped, width_of(headings_[c]));
    for (const auto& cells : rows_)
      least[c] = std::max(least[c], widest_of(lines_of(cells[c], kLeastWrapped)));
  }
  while (sum_of(widths) > most) {
    size_t widest = 0;
    for (size_t c = 1; c < widths.size(); ++c)
      if (widths[c] > least[c] && (widest == 0 || widths[c] > widths[widest])) widest = c;
    if (widest == 0) break;
    --widths[widest];
  }
  return widths;
}

Table Table::with_columns(const std::vector<size_t>& places) const {
  Table part;
  for (const size_t c : places) part.column(headings_[c], aligns_[c]);
  for (const auto& cells : rows_) {
    std::vector<std::string> kept;
    for (const size_t c : places) kept.push_back(cells[c]);
    part.row(std::move(kept));
  }
  return part;
}

std::string Table::text(size_t most) const {
  if (rows_.empty()) return "";
  const std::vector<size_t> widths = widths_within(most);
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out;
    for (size_t c = 0; c < cells.size(); ++c)
      out += (c == 0 ? "" : std::string(kGap, ' ')) + padded(cells[c], widths[c], aligns_[c]);
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + "\n";
  };
  line(headings_);
  std::vector<std::string> rules;
  for (const size_t width : widths) rules.emplace_back(width, '-');
  line(rules);
  for (const auto& cells : rows_) {
    std::vector<std::vector<std::string>> columns;
    size_t height = 1;
    for (size_t c = 0; c < cells.size(); ++c) {
      columns.push_back(width_of(cells[c]) > widths[c] ? lines_of(cells[c], widths[c])
                                                       : std::vector<std::string>{cells[c]});
      height = std::max(height, columns.back().size());
    }
    for (size_t row = 0; row < height; ++row) {
      std::vector<std::string> parts;
      for (const auto& lines : columns) parts.push_back(row < lines.size() ? lines[row] : "");
      line(parts);
    }
  }
  return text;
}

std::string Table::markdown() const {
  if (rows_.empty()) return "";
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    text += "|";
    for (const std::string& cell : cells) {
      text += " ";
      for (const char c : cell) text += c == '|' ? "\\|" : std::string(1, c);
      text += " |";
    }
    text += "\n";
  };
  line(headings_);
  text += "|";
  for (const Align align : aligns_) text += align == Align::kRight ? " ---: |" : " --- |";
  text += "\n";
  for (const auto& cells : rows_) line(cells);
  return text;
}

std::string Table::csv() const {
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) text += ",";
      if (cells[c].find_first_of(",\"\r\n") == std::string::npos) {
        text += cells[c];
        continue;
      }
      text += "\"";
      for (const char character : cells[c])
        text += character == '"' ? "\"\"" : std::string(1, character);
      text += "\"";
    }
    text += "\r\n";
  };
  line(headings_);
  for (const auto& cells : rows_) line(cells);
  return text;
}

std::string short_number(double value) {
  const double magnitude = std::abs(value);
  if (magnitude == 0) return "0";
  if (magnitude >= 1e6 || magnitude < 1e-4) return fmt::format("{:.2e}", value);
  const int digits_before = static_cast<int>(std::floor(std::log10(magnitude))) + 1;
  return fmt::format("{:.{}f}", value, std::max(0, 3 - digits_before));
}

std::string wrapped(const std::string& text, size_t width) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    size_t column = 0;
    for (size_t word = begin; word < end;) {
      const size_t word_end = std::min(text.find(' ', word), end);
      const std::string piece = text.substr(word, word_end - word);
      const size_t needed = width_of(piece);
      if (column > 0 && column + 1 + needed > width) {
        out += "\n  ";
        column = 2;
      } else if (word > begin) {
        out += " ";
        ++column;
      }
      out += piece;
      column += needed;
      word = word_end + 1;
    }
    if (end < text.size()) out += "\n";
    begin = end + 1;
  }
  return out;
}

}  // namespace reprise::results
