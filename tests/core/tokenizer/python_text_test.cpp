// Tests functions that must agree with Python's str beyond ASCII.
#include "core/tokenizer/python_text.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace reprise::python {
namespace {

TEST(CodePoints, AreThoseOfUtf8AndBack) {
  const std::string text = "a\u00e9\u6bb5\U0001f600";
  EXPECT_EQ(code_points(text), U"a\u00e9\u6bb5\U0001f600");
  EXPECT_EQ(utf8(code_points(text)), text);
  EXPECT_THROW((void)code_points("\xff"), Error);
}

TEST(Lower, IsThatOfWholeWords) {
  EXPECT_EQ(lower(U"ABC \u00c9\u0416"), U"abc \u00e9\u0436");
  EXPECT_EQ(lower(U"\u0130"), U"i\u0307");
  EXPECT_EQ(lower(U"\u2167\u24b7"), U"\u2177\u24d1");  // a Roman numeral, a circled letter
}

TEST(Lower, SigmaThatEndsAWordIsAnotherLetter) {
  EXPECT_EQ(lower(U"\u039f\u0394\u039f\u03a3"), U"\u03bf\u03b4\u03bf\u03c2");
  EXPECT_EQ(lower(U"\u03a3\u0391"), U"\u03c3\u03b1");              // sigma begins the word
  EXPECT_EQ(lower(U"\U0001f130\u03a3"), U"\U0001f130\u03c2");      // a letter in a square
  EXPECT_EQ(lower(U"\u03a3"), U"\u03c3");                          // sigma is the whole word
  EXPECT_EQ(lower(U"\u0391\u03a3 B"), U"\u03b1\u03c2 b");          // a space ends the word
  EXPECT_EQ(lower(U"\u0391\u03a3'B"), U"\u03b1\u03c3'b");          // an apostrophe does not end it
  EXPECT_EQ(lower(U"\u0391\u0301\u03a3"), U"\u03b1\u0301\u03c2");  // nor does a mark
  EXPECT_EQ(lower(U"1\u03a3"), U"1\u03c3");
}

TEST(Split, KnowsPythonsSpaces) {
  using TextWords = std::vector<std::u32string>;
  EXPECT_EQ(split(U"  a\tb\u00a0c\u3000d\u001ce\n"), (TextWords{U"a", U"b", U"c", U"d", U"e"}));
  EXPECT_EQ(split(U""), TextWords{});
  EXPECT_EQ(split(U" \n"), TextWords{});
  EXPECT_EQ(split(U"a\u200bb"), TextWords{U"a\u200bb"});  // U+200B has no width, but is no space
}

TEST(SplitAt, KeepsEmptyParts) {
  using Parts = std::vector<std::u32string>;
  EXPECT_EQ(split_at(U"a..b.", U'.'), (Parts{U"a", U"", U"b", U""}));
  EXPECT_EQ(split_at(U"", U'.'), Parts{U""});
}

TEST(PythonText, KnowsCapitals) {
  for (const char32_t code : {U'A', U'Z', U'\u00c9', U'\u0416', U'\u24b6', U'\u2160'})
    EXPECT_TRUE(is_upper(code)) << static_cast<uint32_t>(code);
  for (const char32_t code : {U'a', U'1', U' ', U'\u00df', U'\u01c5', U'\u4e00', U'\u2170'})
    EXPECT_FALSE(is_upper(code)) << static_cast<uint32_t>(code);
}

TEST(Classes, AreThoseOfRegularExpressions) {
  EXPECT_TRUE(is_decimal(U'7') && is_decimal(U'\u0667'));
  EXPECT_FALSE(is_decimal(U'\u00b2') || is_decimal(U'\u2167') || is_decimal(U'\u4e00'));
  using Text = std::u32string_view;
  for (const char32_t code : Text(U"a_7\u00e9\u4e00\u00b2\u2167\u02b0"))
    EXPECT_TRUE(is_word(code)) << static_cast<uint32_t>(code);
  for (const char32_t code : Text(U" -'\u0301\u3002\u2019\u24b7"))
    EXPECT_FALSE(is_word(code)) << static_cast<uint32_t>(code);
}

TEST(WithoutLeadingNewlines, TakesNothingElse) {
  EXPECT_EQ(without_leading_newlines(U"\n\n a\n"), U" a\n");
  EXPECT_EQ(without_leading_newlines(U"\n"), U"");
  EXPECT_EQ(without_leading_newlines(U"\r\n"), U"\r\n");
}

}  // namespace
}  // namespace reprise::python
