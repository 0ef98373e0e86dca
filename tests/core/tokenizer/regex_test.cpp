// Tests the dialect of patterns, and that hostile patterns end.
#include "core/tokenizer/regex.h"

#include "tests/core/tokenizer/tokenizer_testing.h"

namespace reprise::tokenizer {
namespace {

std::vector<std::string> matches(const std::string& pattern, const std::string& text) {
  std::vector<Span> spans;
  Regex(pattern, "test").find_all(text, spans);
  std::vector<std::string> found;
  size_t covered = 0;
  for (const Span& span : spans) {
    EXPECT_EQ(span.begin, covered);
    covered = span.end;
    if (span.is_match) found.push_back(text.substr(span.begin, span.end - span.begin));
  }
  EXPECT_EQ(covered, text.size());
  return found;
}
using Texts = std::vector<std::string>;

TEST(Regex, ClassesAreUnicode) {
  EXPECT_EQ(matches(R"(\p{L}+)", "a\u00e9 \u4e16"), (Texts{"a\u00e9", "\u4e16"}));
  EXPECT_EQ(matches(R"(\w+)", "\u0939\u093f-\u203f"), (Texts{"\u0939\u093f", "\u203f"}));
  EXPECT_EQ(matches(R"(\d)", "1\u0663\u00bd"), (Texts{"1", "\u0663"}));
  // U+0085 is white space, U+180E and U+200B are not.
  EXPECT_EQ(matches(R"(\s)", "\u0085\u180e\u200b\u3000"), (Texts{"\u0085", "\u3000"}));
  EXPECT_EQ(matches(R"([^\S\n])", " \n\t"), (Texts{" ", "\t"}));
}

TEST(Regex, RubySyntax) {
  EXPECT_EQ(matches(R"([a[bc]d]+)", "xabcdx"), (Texts{"abcd"}));
  EXPECT_EQ(matches(R"(a{,2}b)", "aaab"), (Texts{"aab"}));
  EXPECT_EQ(matches(R"((?m:a.b))", "a\nb"), (Texts{"a\nb"}));
  EXPECT_EQ(matches(R"(^b)", "a\nb"), (Texts{"b"}));
  EXPECT_EQ(matches(R"(\h+)", "xyzBEEF"), (Texts{"BEEF"}));
  EXPECT_EQ(matches(R"(\u00e9)", "e\u00e9"), (Texts{"\u00e9"}));
  EXPECT_EQ(matches(R"([(|])", "a(b|c"), (Texts{"(", "|"}));
}

// PCRE2 and Oniguruma classify these characters differently. The expected matches come from HF's
// tokenizers.
TEST(Regex, ClassesAreOnigurumas) {
  EXPECT_EQ(matches(R"(\p{Han}+)", "漢。字"), (Texts{"漢", "字"}));
  EXPECT_EQ(matches(R"([\p{Han}a]+)", "漢。字a"), (Texts{"漢", "字a"}));
  EXPECT_EQ(matches(R"(\P{Han}+)", "漢。字a"), (Texts{"。", "a"}));
  EXPECT_EQ(matches(R"(\p{^Han}+)", "漢。字a"), (Texts{"。", "a"}));
  EXPECT_EQ(matches(R"(\p{Katakana}+)", "ア、ン"), (Texts{"ア", "ン"}));
  EXPECT_EQ(matches(R"(\p{Lu}\p{Ll}+)", "Ab aB"), (Texts{"Ab"}));
  EXPECT_EQ(matches(R"(\w+)", "x² ¾ a"), (Texts{"x²", "¾", "a"}));
  EXPECT_EQ(matches(R"([\w]+)", "x² a"), (Texts{"x", "a"}));
  EXPECT_EQ(matches(R"(\W)", "a²!"), (Texts{"!"}));
  EXPECT_EQ(matches(R"(a\b)", "a² a."), (Texts{"a"}));
  EXPECT_EQ(matches("[[:punct:]]", "a£."), (Texts{"£", "."}));
  EXPECT_EQ(matches("[[:word:]]+", "e\u0301!"), (Texts{"e\u0301"}));
  EXPECT_EQ(matches("[[:space:]]", "a\u180e b"), (Texts{" "}));
  EXPECT_EQ(matches("[[:digit:][:^xdigit:]]+", "1g a"), (Texts{"1g "}));
}

TEST(Regex, PosixClassesOfLettersAreOnigurumas) {
  try {
    Regex(R"(\p{Alphabetic})", "probe");
  } catch (const Error&) {
    GTEST_SKIP() << "PCRE2 before 10.40: these classes are refused";
  }
  EXPECT_EQ(matches("[[:alpha:]]+", "का 1"), (Texts{"का"}));
  EXPECT_EQ(matches("[[:alnum:]]+", "1½a"), (Texts{"1", "a"}));
  EXPECT_EQ(matches("[[:upper:]]+", "AⅠb"), (Texts{"AⅠ"}));
  EXPECT_EQ(matches("[[:lower:]]+", "aªB"), (Texts{"aª"}));
}

TEST(Regex, EmptyMatchesDoNotRepeat) { EXPECT_EQ(matches("a*", "baac"), (Texts{"", "aa", ""})); }

TEST(Regex, BadOrUnsupportedPatternsAreErrors) {
  for (const char* pattern : {"(", "[a", "a\\", "[a&&b]", R"([\W])", "a{1,2}+", "(?~a)", R"(\y)",
                              "[a[^b]]", "(*ACCEPT)", R"(\C)", "(?u:a)", R"(\pL)", "[[:^alpha:]]"})
    EXPECT_EQ(error_of([&] { Regex(pattern, "here"); }).substr(0, 4), "here") << pattern;
  error_of([] { Regex(std::string(100'000, 'a'), "here"); });
}

TEST(Regex, ExplodingPatternsAreStopped) {
  EXPECT_NE(error_of([] { matches("(a+)+$", std::string(5000, 'a') + "b"); }).find("gave up"),
            std::string::npos);
}

TEST(Regex, LongRunsMatch) {
  const std::string text(500'000, ' ');
  EXPECT_EQ(matches(R"(\s+(?!\S)|\s+)", text).size(), 1u);
  EXPECT_EQ(matches(R"((?:[^\s\p{L}]|a)+)", std::string(500'000, 'a')).size(), 1u);
}

}  // namespace
}  // namespace reprise::tokenizer
