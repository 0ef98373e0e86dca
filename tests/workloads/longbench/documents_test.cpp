// Tests how contexts are cut into documents.
#include "workloads/longbench/documents.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::workloads::longbench {
namespace {

using model::expect_error;
using Documents = std::vector<std::string>;
using Kind = DocumentRule::Kind;

constexpr DocumentRule kPassages{.kind = Kind::kNumbered, .label = "Passage"};
constexpr DocumentRule kParagraphs{.kind = Kind::kParagraphs};

TEST(CutDocuments, WholeContextIsOneDocument) {
  EXPECT_EQ(cut_documents("a\n\nb", {}), Documents{"a\n\nb"});
}

TEST(CutDocuments, BeginsOneAtEachNumberedHeading) {
  EXPECT_EQ(cut_documents("Passage 1:\nA\n\nPassage 2:\nB\n", kPassages),
            (Documents{"Passage 1:\nA\n\n", "Passage 2:\nB\n"}));
  EXPECT_EQ(cut_documents("Paragraph 1: A\nParagraph 2: B",
                          {.kind = Kind::kNumbered, .label = "Paragraph"}),
            (Documents{"Paragraph 1: A\n", "Paragraph 2: B"}));
  EXPECT_EQ(cut_documents("\u6bb5\u843d1\uff1aA\n\u6bb5\u843d2\uff1aB",
                          {.kind = Kind::kNumbered, .label = "\u6bb5\u843d"}),
            (Documents{"\u6bb5\u843d1\uff1aA\n", "\u6bb5\u843d2\uff1aB"}));
  EXPECT_EQ(cut_documents("Passage 1\nA\nPassage 2", kPassages),
            (Documents{"Passage 1\nA\n", "Passage 2"}));
}

TEST(CutDocuments, TakesNoHeadingOutOfItsOrder) {
  EXPECT_EQ(
      cut_documents("Passage 1:\nPassage 3:\nsee Passage 2:\nPassage 2 says\nPassage 2:\nB",
                    kPassages),
      (Documents{"Passage 1:\nPassage 3:\nsee Passage 2:\nPassage 2 says\n", "Passage 2:\nB"}));
  std::string ten;
  for (int i = 1; i <= 10; ++i) ten += "Passage " + std::to_string(i) + ":\n";
  EXPECT_EQ(cut_documents(ten, kPassages).size(), 10u);
}

TEST(CutDocuments, KeepsWhatStandsAheadOfTheFirst) {
  EXPECT_EQ(cut_documents("\n \nPassage 1:\nA", kPassages), Documents{"\n \nPassage 1:\nA"});
  EXPECT_EQ(cut_documents("Intro\nPassage 1:\nA", kPassages),
            (Documents{"Intro\n", "Passage 1:\nA"}));
}

TEST(CutDocuments, BeginsAnExampleAtEachLabel) {
  EXPECT_EQ(cut_documents("Question: a\nType: x\nQuestion: b\nType: y\n",
                          {.kind = Kind::kLabelled, .label = "Question:"}),
            (Documents{"Question: a\nType: x\n", "Question: b\nType: y\n"}));
}

TEST(CutDocuments, EndsAParagraphBehindItsBlankLines) {
  EXPECT_EQ(cut_documents("a\nb\n\n \nc\n\n", kParagraphs), (Documents{"a\nb\n\n \n", "c\n\n"}));
  EXPECT_EQ(cut_documents("\n\na", kParagraphs), Documents{"\n\na"});
  EXPECT_EQ(cut_documents("a", kParagraphs), Documents{"a"});
  EXPECT_EQ(cut_documents(" \n\n", kParagraphs), Documents{" \n\n"});
}

TEST(CutDocuments, TogetherAreTheContext) {
  const std::string context =
      "\nhead\n\nPassage 1:\r\nA\r\n\r\nPassage 2: x\n\n\nPassage 4:\nPassage 3:\n";
  for (const DocumentRule& rule :
       {DocumentRule{}, kPassages, kParagraphs, DocumentRule{Kind::kLabelled, "Pass"}}) {
    std::string together;
    for (const std::string& document : cut_documents(context, rule)) {
      EXPECT_FALSE(document.empty());
      together += document;
    }
    EXPECT_EQ(together, context);
  }
}

TEST(CutDocuments, WithoutALabelAreAnErrorThatNamesIt) {
  expect_error([] { (void)cut_documents("text", kPassages); }, {"\"Passage 1\""});
  expect_error([] { (void)cut_documents("Passage 2:\n", kPassages); }, {"\"Passage 1\""});
  expect_error([] { (void)cut_documents("text", {.kind = Kind::kLabelled, .label = "Question:"}); },
               {"\"Question:\""});
  expect_error([] { (void)cut_documents("", {}); }, {"empty"});
}

}  // namespace
}  // namespace reprise::workloads::longbench
