// Alignment of terminal tables.
#include "results/table.h"

#include <gtest/gtest.h>

namespace reprise::results {
namespace {

TEST(Table, AlignsColumnsByTheWidestCell) {
  Table table;
  table.column("method");
  table.column("ms", Table::Align::kRight);
  table.row({"contiguous", "1.5"});
  table.row({"relay", "12"});
  EXPECT_EQ(table.text(),
            "method       ms\n"
            "----------  ---\n"
            "contiguous  1.5\n"
            "relay        12\n");
}

TEST(Table, IsEmptyWithoutRows) {
  Table table;
  table.column("method");
  EXPECT_EQ(table.text(), "");
}

TEST(Table, CountsCharactersNotBytes) {
  Table table;
  table.column("unit", Table::Align::kRight);
  table.row({"±ms"});
  EXPECT_EQ(table.text(), "unit\n----\n ±ms\n");
}

Table two_columns() {
  Table table;
  table.column("method");
  table.column("ms", Table::Align::kRight);
  table.row({"chunk {\"a\":1}", "1,5"});
  table.row({"a|b", "12"});
  return table;
}

TEST(Table, IsCsvWithQuotesWhereTheyAreNeeded) {
  EXPECT_EQ(two_columns().csv(), "method,ms\r\n\"chunk {\"\"a\"\":1}\",\"1,5\"\r\na|b,12\r\n");
}

TEST(Table, IsMarkdownWithItsBarsEscaped) {
  EXPECT_EQ(two_columns().markdown(),
            "| method | ms |\n| --- | ---: |\n| chunk {\"a\":1} | 1,5 |\n| a\\|b | 12 |\n");
}

TEST(Table, PartHasTheColumnsAskedFor) {
  EXPECT_EQ(two_columns().with_columns({1}).text(), " ms\n---\n1,5\n 12\n");
}

TEST(Wrapped, BreaksLinesBetweenWordsAndIndentsWhatContinues) {
  EXPECT_EQ(wrapped("one two three\nfour\n", 8), "one two\n  three\nfour\n");
  EXPECT_EQ(wrapped("short\n", 80), "short\n");
  EXPECT_EQ(wrapped("a-word-longer-than-that b\n", 8), "a-word-longer-than-that\n  b\n");
  EXPECT_EQ(wrapped("", 8), "");
}

TEST(ShortNumber, KeepsThreeDigits) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(1.2345), "1.23");
  EXPECT_EQ(short_number(12.345), "12.3");
  EXPECT_EQ(short_number(123.45), "123");
  EXPECT_EQ(short_number(12345.6), "12346");
  EXPECT_EQ(short_number(0.0123), "0.0123");
  EXPECT_EQ(short_number(3e9), "3.00e+09");
}

}  // namespace
}  // namespace reprise::results
