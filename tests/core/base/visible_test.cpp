#include "core/base/visible.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(Visible, WritesOutWhatCouldSteerATerminal) {
  EXPECT_EQ(visible("\x1b[31m\a\r\x7f"), "\\x1b[31m\\x07\\r\\x7f");
  EXPECT_EQ(visible(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(visible("\xc2\x9b\xc2\x85"), "\\xc2\\x9b\\xc2\\x85");  // C1
}

TEST(Visible, KeepsTextAndTheControlCharactersThatAreWanted) {
  const char* text = "Größe 10 µs, 日本, \xf0\x9f\x98\x80\xc2\xa0";
  EXPECT_EQ(visible(text), text);
  EXPECT_EQ(visible("a\n\tb"), "a\n\tb");
  EXPECT_EQ(visible("a\n\tb", ""), "a\\n\\tb");
  EXPECT_EQ(visible(""), "");
}

// Invalid bytes are written one by one: a cut character, bytes that UTF-8 never has, an overlong
// form, a surrogate, a code beyond Unicode.
TEST(Visible, BytesThatAreNotUtf8AreWrittenOut) {
  EXPECT_EQ(visible("a\xc3"), "a\\xc3");
  EXPECT_EQ(visible("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(visible("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(visible("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(visible("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

}  // namespace
}  // namespace reprise
