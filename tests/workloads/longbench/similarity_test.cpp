// Tests fuzzywuzzy's ratio with each of the two libraries that it can use.
#include "workloads/longbench/similarity.h"

#include <gtest/gtest.h>

#include <string>

namespace reprise::workloads::longbench {
namespace {

double difflib(std::u32string_view a, std::u32string_view b) {
  return line_similarity(a, b, LineMatcher::kDifflib);
}
double levenshtein(std::u32string_view a, std::u32string_view b) {
  return line_similarity(a, b, LineMatcher::kLevenshtein);
}

std::u32string repeated(std::u32string_view text, int times) {
  std::u32string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(LineSimilarity, AgreesWhereTheCommonTextIsOneBlock) {
  for (const auto& similarity : {difflib, levenshtein}) {
    EXPECT_EQ(similarity(U"abcd", U"bcde"), 0.75);
    EXPECT_EQ(similarity(U"abc", U"abc"), 1);
    EXPECT_EQ(similarity(U"abc", U"xyz"), 0);
    EXPECT_EQ(similarity(U"", U"abc"), 0);
    EXPECT_EQ(similarity(U"abc", U""), 0);
    EXPECT_EQ(similarity(U"", U""), 1);
    EXPECT_EQ(similarity(U"\u6bb5\u843d", U"\u6bb5"), 0.67);  // characters, not bytes
  }
}

TEST(LineSimilarity, RoundsHalvesToTheEvenHundredth) {
  EXPECT_EQ(difflib(U"a1234567", U"abcdefgh"), 0.12);  // 2 / 16
  EXPECT_EQ(difflib(U"abc12345", U"abcdefgh"), 0.38);  // 6 / 16
}

TEST(LineSimilarity, DiffersWhereTheLongestBlockIsNotPartOfTheBestAlignment) {
  EXPECT_EQ(difflib(U"1a2b3c4dXYZ", U"XYZabcd"), 0.33);      // XYZ: 6 / 18
  EXPECT_EQ(levenshtein(U"1a2b3c4dXYZ", U"XYZabcd"), 0.44);  // abcd: 8 / 18
}

TEST(LineSimilarity, TakesTheFirstOfEqualBlocksAndGoesOnAtBothSides) {
  EXPECT_EQ(difflib(U"ab", U"ba"), 0.5);
  EXPECT_EQ(difflib(U"xaybz", U"axbyz"), 0.6);  // three blocks of one character
}

TEST(LineSimilarity, DifflibPassesOverFrequentCharactersOfLongAnswers) {
  EXPECT_EQ(difflib(repeated(U"ba", 99), repeated(U"ab", 99)), 0.99);
  EXPECT_EQ(difflib(repeated(U"ba", 100), repeated(U"ab", 100)), 0);
  EXPECT_EQ(levenshtein(repeated(U"ba", 100), repeated(U"ab", 100)), 1);  // 0.995
  // Frequent characters still extend a block that they touch, and form one at the beginning of both
  // texts.
  EXPECT_EQ(difflib(repeated(U"q", 1).append(99, U'a'), std::u32string(199, U'a').append(U"q")),
            0.01);  // 2 / 300
  EXPECT_EQ(difflib(repeated(U"a", 50), repeated(U"a", 200)), 0.4);
}

}  // namespace
}  // namespace reprise::workloads::longbench
