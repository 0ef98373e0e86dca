#include "core/tokenizer/stop_text.h"

#include <gtest/gtest.h>

namespace reprise::tokenizer {
namespace {

// Returns what is shown of `text` when it arrives in pieces of at most `piece` bytes. `found` is
// set to the stop text that was found.
std::string shown(const std::vector<std::string>& stops, const std::string& text, size_t piece,
                  std::string& found) {
  StopText stop(stops);
  std::string out;
  for (size_t at = 0; at < text.size(); at += piece) {
    out += stop.push(std::string_view(text).substr(at, piece));
    // No part of a stop text is shown too early.
    EXPECT_TRUE(text.starts_with(out)) << out;
  }
  out += stop.flush();
  found = stop.found();
  return out;
}

TEST(StopText, CutsAtTheFirstWholeStopHoweverTheTextComes) {
  struct Given {
    std::vector<std::string> stops;
    std::string text, shown, found;
  };
  for (const Given& one : std::vector<Given>{
           {{"end"}, "the end of it", "the ", "end"},
           {{"end"}, "the en", "the en", ""},
           {{"aab"}, "aaaab", "aa", "aab"},             // its beginning "aa" repeats
           {{"abab", "abac"}, "xababac", "x", "abab"},  // "abab" is whole first
           {{"abc", "b"}, "xabc", "xa", "b"},           // "b" is whole before "abc"
           {{"c", "bc"}, "abc", "a", "bc"},             // the longest of those that end together
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

TEST(StopText, TextThatMayNotEndIsSearchedForBeginningsOnly) {
  StopText stop({"stop"});
  EXPECT_EQ(stop.push("a stop, st", false), "a stop, ");
  EXPECT_EQ(stop.found(), "");
  EXPECT_EQ(stop.push("op"), "");
  EXPECT_EQ(stop.found(), "stop");
}

}  // namespace
}  // namespace reprise::tokenizer
