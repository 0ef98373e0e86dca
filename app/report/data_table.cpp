#include "app/report/data_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"

namespace reprise::app {
namespace {

std::string class_of(const DataColumn& column, const std::string& mark = "") {
  std::string name;
  for (const std::string& part : {std::string(column.is_number ? "n" : ""),
                                  std::string(column.is_extra ? "extra" : ""), mark})
    if (!part.empty()) name += (name.empty() ? "" : " ") + part;
  return name;
}

void open_cell(Html& html, const char* tag, const std::string& name,
               std::vector<Html::Attribute> more) {
  if (!name.empty()) more.emplace_back("class", name);
  html.open(tag, more);
}

void write_head(Html& html, const DataTable& table) {
  html.open("thead").open("tr");
  for (const DataColumn& column : table.columns) {
    std::vector<Html::Attribute> attributes = {{"scope", "col"}};
    if (!column.help.empty()) attributes.emplace_back("title", column.help);
    open_cell(html, "th", class_of(column), attributes);
    html.text(column.heading).close();
  }
  html.close().close();
}

void write_cell(Html& html, const DataColumn& column, const DataCell& cell) {
  const std::string number = cell.number ? fmt::format("{:.9g}", *cell.number) : "";
  std::vector<Html::Attribute> attributes;
  if (!number.empty()) attributes.emplace_back("data-v", number);
  open_cell(html, "td", class_of(column, cell.mark), attributes);
  html.text(cell.text);
  if (!cell.detail.empty()) html.text(" ").element("small", cell.detail);
  html.close();
}

size_t rows_shown(const DataTable& table) {
  const size_t by_cells = kMostTableCells / std::max<size_t>(1, table.columns.size());
  return std::min({table.rows.size(), kMostTableRows, std::max<size_t>(1, by_cells)});
}

// Without a script too: a box that the style sheet asks.
void write_switch(Html& html, const DataTable& table) {
  const auto extra = std::count_if(table.columns.begin(), table.columns.end(),
                                   [](const DataColumn& column) { return column.is_extra; });
  if (extra == 0) return;
  const std::string id = table.id + "-all";
  html.empty("input", {{"type", "checkbox"}, {"class", "switch"}, {"id", id}});
  html.element("label", fmt::format("all columns ({} more)", extra), {{"for", id}});
}

}  // namespace

void write_table(Html& html, const DataTable& table, const std::string& remedy) {
  if (table.rows.empty()) return;
  const size_t shown = rows_shown(table);
  html.open("div", {{"class", "data"}});
  write_switch(html, table);
  html.open("div", {{"class", "scroll"}, {"tabindex", "0"}});
  html.open("table", {{"id", table.id}, {"class", "sortable"}}).element("caption", table.caption);
  write_head(html, table);
  html.open("tbody");
  for (size_t r = 0; r < shown; ++r) {
    REPRISE_CHECK(table.rows[r].size() == table.columns.size());
    html.open("tr");
    for (size_t c = 0; c < table.columns.size(); ++c)
      write_cell(html, table.columns[c], table.rows[r][c]);
    html.close();
  }
  html.close().close().close();
  if (shown < table.rows.size())
    html.element("p",
                 fmt::format("The first {} of {} rows, so that the page stays small. {}", shown,
                             table.rows.size(), remedy),
                 {{"class", "note"}});
  html.close();
}

void write_facts(Html& html, const std::vector<std::pair<std::string, std::string>>& facts) {
  html.open("dl");
  for (const auto& [term, fact] : facts)
    if (!fact.empty()) html.element("dt", term).element("dd", fact);
  html.close();
}

}  // namespace reprise::app
