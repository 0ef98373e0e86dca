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

std::string Table::text() const {
  if (rows_.empty()) return "";
  std::vector<size_t> widths;
  for (size_t c = 0; c < headings_.size(); ++c) {
    size_t width = width_of(headings_[c]);
    for (const auto& cells : rows_) width = std::max(width, width_of(cells[c]));
    widths.push_back(width);
  }
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out;
    for (size_t c = 0; c < cells.size(); ++c)
      out += (c == 0 ? "" : "  ") + padded(cells[c], widths[c], aligns_[c]);
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

std::string short_number(double value) {
  const double magnitude = std::abs(value);
  if (magnitude == 0) return "0";
  if (magnitude >= 1e6 || magnitude < 1e-4) return fmt::format("{:.2e}", value);
  const int digits_before = static_cast<int>(std::floor(std::log10(magnitude))) + 1;
  return fmt::format("{:.{}f}", value, std::max(0, 3 - digits_before));
}

}  // namespace reprise::results
