// Tests CSV fields as RFC 4180 defines them, and text that is no CSV.
#include "workloads/questions/csv.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::workloads::questions {
namespace {

using model::expect_error;
using model::TempDir;
using Fields = std::vector<std::string>;

TEST(ReadCsv, UndoesQuotes) {
  const TempDir dir;
  const auto rows = read_csv(
      dir.write("a.csv", "a,\"b, c\",\"say \"\"x\"\"\"\r\n,\"two\nlines\",\n\"\",\"\"\"\",end"));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].fields, (Fields{"a", "b, c", "say \"x\""}));
  EXPECT_EQ(rows[1].fields, (Fields{"", "two\nlines", ""}));
  EXPECT_EQ(rows[2].fields, (Fields{"", "\"", "end"}));
  EXPECT_EQ(rows[0].line, 1);
  EXPECT_EQ(rows[1].line, 2);
  EXPECT_EQ(rows[2].line, 4);
}

TEST(ReadCsv, KeepsWhiteSpaceAndQuotesWithin) {
  const TempDir dir;
  const auto rows = read_csv(dir.write("a.csv", "\xEF\xBB\xBF a ,5\" wide,\r\n"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].fields, (Fields{" a ", "5\" wide", ""}));
}

TEST(ReadCsv, NamesTheLineOfWhatIsWrong) {
  const TempDir dir;
  const auto refused = [&](const char* text, std::initializer_list<std::string> parts) {
    expect_error([&] { (void)read_csv(dir.write("w.csv", text)); }, parts);
  };
  refused("", {"w.csv", "no row"});
  refused("a,b\nc,\"d\ne\n", {"w.csv:2", "not closed"});
  refused("a\n\"b\nc\"d,e\n", {"w.csv:3", "behind a closing quote"});
}

}  // namespace
}  // namespace reprise::workloads::questions
