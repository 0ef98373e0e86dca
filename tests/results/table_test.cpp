// Tests the alignment of tables on a terminal.
#include "results/table.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

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

TEST(Table, CellsContinueBelowWhereLinesAreTooLong) {
  Table table;
  table.column("name");
  table.column("n", Table::Align::kRight);
  table.column("what it is");
  table.row({"a name that stays on its line", "12", "several words and one,that,has,commas"});
  EXPECT_EQ(table.text(50),
            "name                            n  what it is\n"
            "-----------------------------  --  ---------------\n"
            "a name that stays on its line  12  several words\n"
            "                                   and one,that,\n"
            "                                   has,commas\n");
  EXPECT_EQ(table.text(), table.text(200));
  EXPECT_EQ(table.text(1), table.text(20)) << "words are not broken";
}

TEST(Table, LinesAreAsLongAsAskedForWhereWordsAllowIt) {
  std::mt19937 random(7);
  const auto words = [&](int most) {
    std::string text;
    for (auto count = random() % static_cast<unsigned>(most); count > 0; --count)
      text += std::string(1 + random() % 8, static_cast<char>('a' + random() % 26)) + " ";
    return text + "z";
  };
  for (int round = 0; round < 50; ++round) {
    Table table;
    for (const char* heading : {"first", "second", "third"}) table.column(heading);
    for (int row = 0; row < 5; ++row) table.row({words(3), words(12), words(30)});
    const size_t most = 60 + random() % 60;
    const std::string text = table.text(most);
    std::string joined;
    for (const char c : text)
      if (c != ' ' && c != '\n' && c != '-') joined += c;
    size_t letters = 0;
    for (const char c : table.text()) letters += c != ' ' && c != '\n' && c != '-' ? 1 : 0;
    EXPECT_EQ(joined.size(), letters) << "nothing is lost";
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), most) << text;
  }
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
