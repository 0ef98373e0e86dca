// Tests each scorer except ROUGE-L with golden values by the official definitions.
#include "workloads/longbench/metrics.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace reprise::workloads::longbench {
namespace {

using Words = std::vector<std::string>;

TEST(QaF1, IsTheHarmonicMeanOfPrecisionAndRecall) {
  EXPECT_DOUBLE_EQ(qa_f1("The cat sat.", "cat sat down"), 0.8);
  EXPECT_EQ(qa_f1("George Washington", "george   WASHINGTON!"), 1);
  EXPECT_EQ(qa_f1("left", "right"), 0);
}

TEST(QaF1, OfNothingIsZero) {
  for (const char* nothing : {"", "\n\n", "the", "?!", " a an the "}) {
    EXPECT_EQ(qa_f1(nothing, "x"), 0) << nothing;
    EXPECT_EQ(qa_f1("x", nothing), 0) << nothing;
    EXPECT_EQ(qa_f1(nothing, nothing), 0) << nothing;
  }
}

TEST(QaF1, CountsRepeatedWordsAsOftenAsBothHaveThem) {
  EXPECT_DOUBLE_EQ(qa_f1("yes yes yes", "yes no"), 0.4);
  EXPECT_DOUBLE_EQ(qa_f1("yes yes no", "yes yes"), 0.8);
}

TEST(QaF1, TakesPunctuationOutBeforeItLooksForArticles) {
  EXPECT_EQ(qa_f1("the-end", "theend"), 1);
  EXPECT_EQ(qa_f1("a_b", "ab"), 1);
  EXPECT_EQ(qa_f1("a.", "."), 0);                             // both texts become empty
  EXPECT_EQ(qa_f1("\u2018a\u2019 b", "\u2018 \u2019 b"), 1);  // other quotation marks are kept
}

TEST(QaF1, ArticlesEndWhereRegularExpressionsEndWords) {
  EXPECT_EQ(qa_f1("a\u0301 b", "\u0301 b"), 1);   // an article ends at a combining mark
  EXPECT_EQ(qa_f1("\u00e1 b", "\u0301 b"), 0.5);  // but not before a composed letter
  EXPECT_EQ(qa_f1("another theme", "nother me"), 0);
}

TEST(QaF1, KnowsLettersAndSpacesOfAllScripts) {
  EXPECT_EQ(qa_f1("x\u00a0Y\u001cz", "X y\u3000Z"), 1);
  EXPECT_EQ(qa_f1("\u0394\u039f\u03a3", "\u03b4\u03bf\u03c2"), 1);
  EXPECT_EQ(qa_f1("\u0394\u039f\u03a3", "\u03b4\u03bf\u03c3"), 0);
  EXPECT_EQ(qa_f1("\u0130", "i\u0307"), 1);
}

TEST(QaF1Zh, DropsPunctuationAsTheOfficialListHasIt) {
  // The closing mark of a title is on the list, the opening one is not.
  EXPECT_DOUBLE_EQ(qa_f1_zh(Words{"\u6211", "\u7231", "\u300a", "\u5317\u4eac", "\u300b", "\u3002"},
                            Words{"\u6211", "\u5317\u4eac"}),
                   2 * 0.5 * 1 / 1.5);
  EXPECT_EQ(qa_f1_zh(Words{"\uff01", "A", " ", "\u2026"}, Words{"a"}), 1);
  EXPECT_EQ(qa_f1_zh(Words{"\u3001\u4e00"}, Words{"\u4e00."}), 1);
  EXPECT_EQ(qa_f1_zh(Words{}, Words{"\u4e00"}), 0);
  EXPECT_EQ(qa_f1_zh(Words{"\u3002"}, Words{"\u3002"}), 0);
}

TEST(QaF1Zh, KnowsTheEndsOfTheListsRanges) {
  for (const char* listed :
       {"\u2013", "\u2014", "\u2018", "\u2019", "\u201b", "\u201f", "\u2026", "\u2027", "\u3001",
        "\u3003", "\u300b", "\u3011", "\u3014", "\u301f", "\u3030", "\u303e", "\u303f", "\ufe4f",
        "\uff01", "\uff0d", "\uff0f", "\uff1a", "\uff20", "\uff3b", "\uff40", "\uff5b", "\uff64",
        "!",      "/",      ":",      "@",      "[",      "`",      "{",      "~",      "."})
    EXPECT_EQ(qa_f1_zh(Words{listed}, Words{listed}), 0) << listed;
  for (const char* kept :
       {"\u2012", "\u2015", "\u2017", "\u201a", "\u2020", "\u2025", "\u2028x", "\u3004", "\u300a",
        "\u3012", "\u3013", "\u3020", "\u3031", "\u303d", "\u3040", "\ufe4e",  "\ufe50", "\uff0e",
        "\uff10", "\uff19", "\uff21", "\uff3a", "\uff41", "\uff5a", "\uff65",  "0",      "a"})
    EXPECT_EQ(qa_f1_zh(Words{kept}, Words{kept}), 1) << kept;
}

TEST(Classification, SharesTheScoreAmongTheClassesNamed) {
  const Words classes = {"Food", "Animal", "Color"};
  EXPECT_EQ(classification("Animal", "Animal", classes), 1);
  EXPECT_EQ(classification("Animal or Color", "Animal", classes), 0.5);
  EXPECT_DOUBLE_EQ(classification("Food Animal Color", "Color", classes), 1.0 / 3);
  EXPECT_EQ(classification("Food", "Animal", classes), 0);
  EXPECT_EQ(classification("animal", "Animal", classes), 0);  // upper and lower case differ
  EXPECT_EQ(classification("", "Animal", classes), 0);
  EXPECT_EQ(classification("Planet", "Planet", classes), 0);  // no class
}

TEST(Classification, ClassWithinTheAnswersNameDoesNotCount) {
  EXPECT_EQ(classification("Human being", "Human being", Words{"Human", "Human being"}), 1);
  // A class whose name contains the answer's does count: the prediction names this longer class.
  EXPECT_EQ(classification("Human being", "Human", Words{"Human", "Human being"}), 0.5);
}

TEST(Classification, OneBehindAClassStruckOutIsNotLookedAt) {
  // "b" lies within "abc" too, but the official loop skips it because "a" is removed just before
  // it.
  EXPECT_EQ(classification("abc", "abc", Words{"a", "b", "abc"}), 0.5);
  EXPECT_EQ(classification("abc", "abc", Words{"a", "abc", "b"}), 1);
  EXPECT_DOUBLE_EQ(classification("abcd", "abcd", Words{"a", "b", "c", "d", "abcd"}), 1.0 / 3);
}

TEST(Retrieval, IsTheShareOfTheRightNumberAmongAll) {
  EXPECT_EQ(retrieval("Paragraph 7", "Paragraph 7"), 1);
  EXPECT_DOUBLE_EQ(retrieval("7, 8 and then 7", "Paragraph 7"), 2.0 / 3);
  EXPECT_EQ(retrieval("Paragraph 17", "Paragraph 7"), 0);
  EXPECT_EQ(retrieval("none", "Paragraph 7"), 0);
  EXPECT_EQ(retrieval("", "Paragraph 7"), 0);
}

TEST(Retrieval, ComparesNumbersAsText) {
  EXPECT_EQ(retrieval("07", "Paragraph 7"), 0);
  EXPECT_EQ(retrieval("\u0667 7", "Paragraph 7"), 0.5);  // an Arabic 7 is a number, another one
  EXPECT_EQ(retrieval("7.5", "Paragraph 7"), 0.5);       // two numbers
}

TEST(Retrieval, ReadsTheAnswersFirstNumber) {
  EXPECT_EQ(retrieval("12", "Paragraph x, Paragraph 12, Paragraph 3"), 1);
  EXPECT_THROW((void)retrieval("7", "paragraph 7"), Error);
  EXPECT_THROW((void)retrieval("7", "Paragraph  7"), Error);
}

TEST(RetrievalZh, ReadsChineseAnswers) {
  EXPECT_EQ(retrieval_zh("\u6bb5\u843d5", "\u6bb5\u843d5"), 1);
  EXPECT_EQ(retrieval_zh("5 6", "\u6bb5\u843d5"), 0.5);
  EXPECT_THROW((void)retrieval_zh("5", "Paragraph 5"), Error);
}

TEST(Count, IsTheShareOfTheRightNumberAmongAll) {
  EXPECT_DOUBLE_EQ(count("There are 5, I mean 5, not 6", "5"), 2.0 / 3);
  EXPECT_EQ(count("", "5"), 0);
  EXPECT_EQ(count("five", "5"), 0);
  EXPECT_EQ(count("5", " 5"), 0);
}

TEST(CodeSimilarity, TakesTheFirstLineThatIsNoComment) {
  const auto score = [](const char* prediction, const char* answer) {
    return code_similarity(prediction, answer, LineMatcher::kDifflib);
  };
  EXPECT_EQ(score("\n\n# first\n```cpp\nint x;  // x\nint y;\nint z;", "int y;"), 1);
  EXPECT_EQ(score("# only", "int y;"), 0);
  EXPECT_EQ(score("# only", ""), 1);
  EXPECT_EQ(score("", ""), 1);
  EXPECT_EQ(score("", "x"), 0);
  EXPECT_EQ(score("\n\n", "x"), 0);
  EXPECT_EQ(score(" \nx", "x"), 0);  // a line of spaces is the first line
}

TEST(FirstLine, StartsBehindLineBreaks) {
  EXPECT_EQ(first_line("\n\nA\nB"), "A");
  EXPECT_EQ(first_line("A"), "A");
  EXPECT_EQ(first_line("\n"), "");
  EXPECT_EQ(first_line(""), "");
  EXPECT_EQ(first_line("A\r\nB"), "A\r");  // Python's split("\n") leaves it
}

}  // namespace
}  // namespace reprise::workloads::longbench
