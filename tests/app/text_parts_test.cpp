// The parts of the commands that treat text: stop texts, token lists, and what a terminal is shown.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/stop_text.h"
#include "app/token_ids.h"
#include "app/token_printer.h"
#include "tests/core/tokenizer/tokenizer_testing.h"

namespace reprise::app {
namespace {

// What is shown of `text`, cut into pieces of at most `piece` bytes; `found` gets the stop text.
std::string shown(const std::vector<std::string>& stops, const std::string& text, size_t piece,
                  std::string& found) {
  StopText stop(stops);
  std::string out;
  for (size_t at = 0; at < text.size(); at += piece) {
    out += stop.push(std::string_view(text).substr(at, piece));
    // Nothing of a stop text is shown too early.
    EXPECT_TRUE(text.starts_with(out)) << out;
  }
  out += stop.flush();
  found = stop.found();
  return out;
}

TEST(StopText, CutsAtTheFirstWholeStopHoweverTheTextComes) {
  struct Case {
    std::vector<std::string> stops;
    std::string text, shown, found;
  };
  for (const Case& one :
       std::vector<Case>{{{"end"}, "the end of it", "the ", "end"},
                         {{"end"}, "the en", "the en", ""},
                         {{"aab"}, "aaaab", "aa", "aab"},             // its beginning repeats
                         {{"abab", "abac"}, "xababac", "x", "abab"},  // whole first
                         {{"abc", "b"}, "xabc", "xa", "b"},  // whole before the longer one is
                         {{"c", "bc"}, "abc", "a", "bc"},  // the longest of those that end together
                         {{"\n\n"}, "a\nb\n\nc", "a\nb", "\n\n"},
                         {{}, "all of it", "all of it", ""}})
    for (size_t piece = 1; piece <= one.text.size(); ++piece) {
      std::string found;
      EXPECT_EQ(shown(one.stops, one.text, piece, found), one.shown) << one.text << " by " << piece;
      EXPECT_EQ(found, one.found) << one.text << " by " << piece;
    }
}

TEST(StopText, ShowsWhatCanBeNoStopAtOnce) {
  StopText stop({"stop"});
  EXPECT_EQ(stop.push("a s"), "a ");
  EXPECT_EQ(stop.push("t"), "");
  EXPECT_EQ(stop.push("a"), "sta");
  EXPECT_EQ(stop.push("sto"), "");
  EXPECT_EQ(stop.push("p and more"), "");
  EXPECT_EQ(stop.push("more"), "");
  EXPECT_EQ(stop.flush(), "");
}

TEST(TokenIds, BlanksAndCommasSeparate) {
  const std::vector<int32_t> wanted = {1, 20, 0, 2147483647};
  for (const char* text : {"1,20,0,2147483647", " 1 20\n0\t2147483647\r\n", "1 , 20,0 2147483647"})
    EXPECT_EQ(parse_token_ids(text, "t"), wanted) << text;
  EXPECT_TRUE(parse_token_ids(" \n", "t").empty());
}

std::string printed(bool is_terminal, const std::vector<int32_t>& ids) {
  const auto tokenizer = tokenizer::make_tokenizer(tokenizer::llama_json());
  std::string out;
  TokenPrinter printer(tokenizer.stream(), StopText({}), is_terminal,
                       [&](std::string_view text) { out += text; });
  for (const int32_t id : ids) printer.token(id);
  printer.end();
  return out;
}

TEST(TokenPrinter, WritesControlCharactersOutOnATerminalAlone) {
  const auto byte = [](int value) { return 3 + value; };
  const std::vector<int32_t> ids = {byte('x'),  byte(0x1b), byte('['),  byte('\n'), byte('\t'),
                                    byte('\r'), byte(7),    byte(0xc2), byte(0x9b), byte(0x7f)};
  EXPECT_EQ(printed(/*is_terminal=*/false, ids), "x\x1b[\n\t\r\a\xc2\x9b\x7f\n");
  EXPECT_EQ(printed(/*is_terminal=*/true, ids), "x\\x1b[\n\t\\r\\x07\\xc2\\x9b\\x7f\n");
}

}  // namespace
}  // namespace reprise::app
