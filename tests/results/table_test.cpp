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
