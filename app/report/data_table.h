// A table of a page, which the reader's browser sorts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/report/html.h"

namespace reprise::app {

struct DataColumn {
  std::string heading;
  std::string help = {};  // shown where the pointer rests
  bool is_number = false;
  bool is_extra = false;  // shown on demand
};

struct DataCell {
  std::string text;
  std::string detail = {};            // smaller, behind it
  std::optional<double> number = {};  // what it is sorted by; else its text
  std::string mark = {};              // its class: "better", "worse", "bad"
};

struct DataTable {
  std::string id;  // unique in the page: letters, digits, '-'
  std::string caption;
  std::vector<DataColumn> columns;
  std::vector<std::vector<DataCell>> rows;  // a cell for each column (CHECK)
};

// Rows and cells of a table beyond which a page would be slow to open and to sort. What is left out
// is counted below the table, with `remedy`, where all of it is.
inline constexpr size_t kMostTableRows = 1000;
inline constexpr size_t kMostTableCells = 30000;
void write_table(Html& html, const DataTable& table, const std::string& remedy);

// Terms with what they are, of which empty ones are left out.
void write_facts(Html& html, const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace reprise::app
