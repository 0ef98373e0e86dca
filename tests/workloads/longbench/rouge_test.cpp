// Tests ROUGE-L with the oddities of the package that defines it. The expected values come from
// `rouge` 1.0.1; compare_with_packages_test.py asks the package itself.
#include "workloads/longbench/rouge.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/error.h"

namespace reprise::workloads::longbench {
namespace {

constexpr double kAll = 2.0 * (1.0 / (2.0 + 1e-8));  // p = r = 1: not quite 1

TEST(RougeL, OfEqualTextsIsNotQuiteOne) {
  EXPECT_DOUBLE_EQ(rouge_l("a b c", "a b c"), 0.999999995);
  EXPECT_DOUBLE_EQ(rouge_l("a b c", "a b c"), kAll);
}

TEST(RougeL, WithoutAWordInCommonIsZero) { EXPECT_EQ(rouge_l("a b", "c d"), 0); }

TEST(RougeL, WithoutASentenceIsZero) {
  EXPECT_EQ(rouge_l("", "a"), 0);
  EXPECT_EQ(rouge_l("a", ""), 0);
  EXPECT_EQ(rouge_l("...", "a"), 0);
  EXPECT_EQ(rouge_l("", ""), 0);
}

TEST(RougeL, SpacesAloneAreASentenceOfOneEmptyWord) {
  EXPECT_DOUBLE_EQ(rouge_l("\n", " "), kAll);
  EXPECT_EQ(rouge_l("\n", "a"), 0);
  // "a. " has the words "a" and "": p = 1/2, r = 1.
  EXPECT_DOUBLE_EQ(rouge_l("a. ", "a"), 2.0 * (0.5 / (1.5 + 1e-8)));
  EXPECT_DOUBLE_EQ(rouge_l("a.", "a"), kAll);
}

TEST(RougeL, CountsAWordOnceHoweverOftenItIsRepeated) {
  EXPECT_DOUBLE_EQ(rouge_l("a a a a", "a"), kAll);
  EXPECT_DOUBLE_EQ(rouge_l("a b a b", "b"), 2.0 * (0.5 / (1.5 + 1e-8)));
}

TEST(RougeL, OfEquallyLongSubsequencesLeavesOutThePredictionsLastWord) {
  // Both "a" and "b" are common subsequences, and the package finds "b". Either gives p = r = 1/2.
  EXPECT_DOUBLE_EQ(rouge_l("b a", "a b"), 0.499999995);
  // Here the choice matters: "a" is in both sentences of the answer, "b" and "c" in one each. The
  // package finds b in (a b | b a) and a in (a c | b a): two of the prediction's two words, and two
  // of the answer's three.
  EXPECT_DOUBLE_EQ(rouge_l("b a", "a b. a c"), 2.0 * ((1.0 * (2.0 / 3)) / (1.0 + 2.0 / 3 + 1e-8)));
}

TEST(RougeL, UnitesTheSubsequencesOfAllSentences) {
  EXPECT_DOUBLE_EQ(rouge_l("a. b", "b a"), kAll);
  EXPECT_DOUBLE_EQ(rouge_l("b a", "a. b"), kAll);
}

TEST(RougeL, WordsStandBetweenAnySpacesAndKeepCaseAndPunctuation) {
  EXPECT_DOUBLE_EQ(rouge_l("\u4e00\u3000\u4e8c", "\u4e00 \u4e8c"), kAll);
  EXPECT_EQ(rouge_l("Yes, no!", "yes no"), 0);
}

std::string counted_words(int number) {
  std::string text;
  for (int i = 0; i < number; ++i) text += fmt::format("w{} ", i);
  return text;
}

TEST(RougeL, IsZeroWherePythonRefusesToRecurse) {
  EXPECT_DOUBLE_EQ(rouge_l(counted_words(990), counted_words(990)), kAll);
  EXPECT_EQ(rouge_l(counted_words(991), counted_words(991)), 0);
  EXPECT_DOUBLE_EQ(rouge_l(counted_words(991), counted_words(991), {.most_calls = 0}), kAll);
  // If the texts have only the first word in common, the walk goes through both texts to their
  // ends.
  std::string xs, ys;
  for (int i = 0; i < 600; ++i) {
    xs += " x";
    ys += " y";
  }
  EXPECT_GT(rouge_l("w0" + xs, "w0" + ys, {.most_calls = 0}), 0);
  EXPECT_EQ(rouge_l("w0" + xs, "w0" + ys), 0);
}

TEST(RougeL, RefusesSentencesThatWouldTakeAllMemory) {
  const std::string text = counted_words(20000);
  EXPECT_THROW((void)rouge_l(text, text, {.most_calls = 0}), Error);
  EXPECT_EQ(rouge_l(text, text), 0);  // too deep for the package, so no memory is needed
}

}  // namespace
}  // namespace reprise::workloads::longbench
