#include "results/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/visible.h"

namespace reprise::results {
namespace {

// Columns that a terminal gives UTF-8 text of one column per character.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, size_t width, Table::Align align) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return align == Table::Align::kRight ? blanks + text : text + blanks;
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

size_t Table::width() const {
  size_t width = 0;
  for (const size_t column : widths()) width += column + (width == 0 ? 0 : kGap);
  return width;
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

std::string Table::text() const {
  if (rows_.empty()) return "";
  const std::vector<size_t> widths = this->widths();
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
  for (const auto& cells : rows_) line(cells);
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
