// Tests UTF-8 that is whole, cut or broken, and the classes of characters.
#include "core/tokenizer/utf8.h"

#include "core/tokenizer/unicode.h"
#include "tests/core/tokenizer/tokenizer_testing.h"

namespace reprise::tokenizer {
namespace {

std::string lossy(const std::string& bytes) {
  LossyUtf8 decoder;
  std::string out;
  for (const char c : bytes) decoder.push(std::string_view(&c, 1), out);
  decoder.flush(out);
  return out;
}

TEST(Utf8, EveryCharacterSurvives) {
  for (char32_t code = 0; code < 0x110000; code += code < 0x3000 ? 1 : 17) {
    if (code >= 0xd800 && code < 0xe000) continue;
    std::string text;
    append_utf8(text, code);
    ASSERT_EQ(utf8_at(text, 0).code, code);
    ASSERT_EQ(utf8_before(text, text.size()).code, code);
    ASSERT_EQ(lossy(text), text);
    ASSERT_NO_THROW(require_utf8(text, "text"));
  }
}

TEST(Utf8, EachMaximalIllFormedPartBecomesOneReplacement) {
  const std::string r(kReplacement);
  EXPECT_EQ(lossy("a\xff"
                  "b"),
            "a" + r + "b");
  EXPECT_EQ(lossy("\xe4\xb8"), r);  // cut off
  EXPECT_EQ(lossy("\xe4\xb8"
                  "a"),
            r + "a");
  EXPECT_EQ(lossy("\xc0\xaf"), r + r);                  // overlong
  EXPECT_EQ(lossy("\xed\xa0\x80"), r + r + r);          // surrogate
  EXPECT_EQ(lossy("\xf4\x90\x80\x80"), r + r + r + r);  // above U+10FFFF
  EXPECT_EQ(lossy("\xf0\x9f\x98\xe4\xb8\x96"), r + "\u4e16");
}

TEST(Utf8, ErrorsSayWhere) {
  EXPECT_NE(error_of([] { require_utf8("\u4e16\xe4\xb8", "the text"); }).find("byte 3"),
            std::string::npos);
}

TEST(Unicode, KindsOfCharacters) {
  EXPECT_TRUE(is_punctuation('$') && is_punctuation(0x2026));
  EXPECT_FALSE(is_punctuation(0x20ac) || is_punctuation(0x2e44));  // a euro; newer than the tables
  EXPECT_TRUE(is_number(0xbd) && is_number('7'));
  EXPECT_TRUE(is_whitespace(0x85) && is_whitespace(0x3000));
  EXPECT_FALSE(is_whitespace(0x200b) || is_whitespace(0x180e));
  EXPECT_TRUE(is_word(0x24d0) && is_word(0x93f) && is_word('_'));
}

}  // namespace
}  // namespace reprise::tokenizer
