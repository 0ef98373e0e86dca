#include "app/report/html.h"

#include <gtest/gtest.h>

#include "app/report/data_table.h"

namespace reprise::app {
namespace {

TEST(HtmlText, NothingOfATextIsMarkup) {
  EXPECT_EQ(html_text("<script>\"a\" & 'b'</script>"),
            "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/script&gt;");
  EXPECT_EQ(html_text(""), "");
  EXPECT_EQ(html_text("größe 日本 😀"), "größe 日本 😀");
}

TEST(HtmlText, WhatWouldMisleadIsWrittenOut) {
  EXPECT_EQ(html_text("a\nb\x1b[31m\x7f"), "a\\nb\\x1b[31m\\x7f");
  EXPECT_EQ(html_text(std::string("\0", 1)), "\\x00");
  EXPECT_EQ(html_text("\xff<"), "\\xff&lt;");
  EXPECT_EQ(html_text("exe.\u202egnp"), "exe.\\u202egnp");
  EXPECT_EQ(html_text("\u2066\u200f\u061c\u2028"), "\\u2066\\u200f\\u061c\\u2028");
  EXPECT_EQ(html_text("\uffff\uffff"), "\\uffff\\uffff");
  // Neighbours of those above stand as they are.
  EXPECT_EQ(html_text("\u200d\u2010\u2027\u202f\u2065\u206a\ufffd\u061b"),
            "\u200d\u2010\u2027\u202f\u2065\u206a\ufffd\u061b");
}

TEST(Html, ClosesWhatItOpenedAndEscapesValues) {
  Html html;
  html.open("p", {{"title", "a\"b"}}).text("1 < 2").element("b", "x").close();
  html.empty("img", {{"alt", "<"}});
  EXPECT_EQ(html.finished(), "<p title=\"a&quot;b\">1 &lt; 2<b>x</b></p>\n<img alt=\"&lt;\"/>");
}

TEST(HtmlDeathTest, AnOpenElementIsAMistake) {
  Html html;
  html.open("p");
  EXPECT_DEATH((void)html.finished(), "p is open");
  html.close();
  EXPECT_DEATH(html.close(), "open_");
}

std::string written(const DataTable& table) {
  Html html;
  write_table(html, table, "The rest is elsewhere.");
  return html.finished();
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(DataTable, CellsCarryWhatTheyAreSortedBy) {
  const std::string text = written(
      {.id = "t",
       .caption = "A <caption>",
       .columns = {{.heading = "name", .help = "a \"help\""},
                   {.heading = "ms", .is_number = true, .is_extra = true}},
       .rows = {{{.text = "<b>"}, {.text = "1.23", .detail = "1 to 2", .number = 1.2345678}}}});
  for (const char* part :
       {"<th scope=\"col\" title=\"a &quot;help&quot;\">name</th>", "<td>&lt;b&gt;</td>",
        "<td data-v=\"1.2345678\" class=\"n extra\">1.23 <small>1 to 2</small></td>",
        "A &lt;caption&gt;", "all columns (1 more)", "id=\"t-all\""})
    EXPECT_NE(text.find(part), std::string::npos) << part << " not in " << text;
}

TEST(DataTable, WithoutExtraColumnsThereIsNoSwitchAndWithoutRowsNothing) {
  DataTable table{.id = "t", .caption = "", .columns = {{.heading = "a"}}, .rows = {}};
  EXPECT_EQ(written(table), "");
  table.rows = {{{.text = "1"}}};
  EXPECT_EQ(written(table).find("checkbox"), std::string::npos);
}

TEST(DataTable, IsBoundedByRowsAndByCells) {
  DataTable table{.id = "t", .caption = "", .columns = {{.heading = "a"}}, .rows = {}};
  table.rows.assign(kMostTableRows, {{.text = "1"}});
  EXPECT_EQ(count_of(written(table), "<td>"), kMostTableRows);
  EXPECT_EQ(written(table).find("elsewhere"), std::string::npos);
  table.rows.push_back({{.text = "1"}});
  EXPECT_EQ(count_of(written(table), "<td>"), kMostTableRows);
  EXPECT_NE(written(table).find("The first 1000 of 1001 rows"), std::string::npos);
  EXPECT_NE(written(table).find("The rest is elsewhere."), std::string::npos);
  table.columns.assign(kMostTableCells / 10, {.heading = "a"});
  table.rows.assign(20, std::vector<DataCell>(table.columns.size(), {.text = "1"}));
  EXPECT_EQ(count_of(written(table), "<td>"), kMostTableCells);
}

}  // namespace
}  // namespace reprise::app
