// Tests when an answer is right, and which parts of an item become modules.
#include "workloads/questions/item.h"

#include <gtest/gtest.h>

#include <vector>

namespace reprise::workloads::questions {
namespace {

using Texts = std::vector<std::string>;

Item item_of(Judgement judgement, const Texts& answers) {
  return {.answers = answers, .judgement = judgement};
}

TEST(FirstLine, IsComparedLetterForLetterWithoutWhiteSpaceAround) {
  const Item item = item_of(Judgement::kFirstLine, {"Rome", "the city of Rome"});
  EXPECT_TRUE(is_right(item, " Rome\nQ: and Bob?\nA: Oslo"));
  EXPECT_TRUE(is_right(item, "Rome"));
  EXPECT_TRUE(is_right(item, "\tthe city of Rome \r\n"));
  EXPECT_FALSE(is_right(item, " rome\n"));
  EXPECT_FALSE(is_right(item, " Rome."));
  EXPECT_FALSE(is_right(item, "\n Rome"));
  EXPECT_FALSE(is_right(item, ""));
  EXPECT_EQ(judged_text(item, "  a b \nc"), "a b");
}

TEST(LastNumber, IsTheLastRunOfDigits) {
  const Item item = item_of(Judgement::kLastNumber, {"2416"});
  EXPECT_TRUE(is_right(item, "The <REGISTER_CONTENT> in line torpid-kid is <2416>."));
  EXPECT_TRUE(is_right(item, "In line 7 it is 002416"));
  EXPECT_FALSE(is_right(item, "2416, or 17"));
  EXPECT_FALSE(is_right(item, "<12416>"));
  EXPECT_FALSE(is_right(item, "no number"));
  EXPECT_EQ(judged_text(item, "a 000 b"), "0");
  EXPECT_EQ(judged_text(item, "none"), "");
}

TEST(Contains, LooksForTheWordsInARow) {
  const Item item = item_of(Judgement::kContains, {"The role of art in society"});
  EXPECT_TRUE(is_right(item, "'The Role of Art in Society'."));
  EXPECT_TRUE(is_right(item, "It was the role of  art,\nin society, I think"));
  EXPECT_FALSE(is_right(item, "The role of arts in society"));
  EXPECT_FALSE(is_right(item, "the role of art"));
  const Item accented = item_of(Judgement::kContains, {"caf\u00e9"});
  EXPECT_TRUE(is_right(accented, "Un caf\u00e9!"));
  EXPECT_FALSE(is_right(accented, "Un caf\u00e9s!"));
}

// RelayAttention's program judges so: capitals of words before the letter count too.
TEST(FirstCapital, IsTheFirstLetterThatIsUpperCase) {
  const Item item = item_of(Judgement::kFirstCapital, {"B"});
  EXPECT_TRUE(is_right(item, "\nB\n\nThere is"));
  EXPECT_TRUE(is_right(item, "it is (B), not A"));
  EXPECT_TRUE(is_right(item, "Because of"));
  EXPECT_FALSE(is_right(item, "The answer is B"));
  EXPECT_FALSE(is_right(item, "\u00c9 B"));
  EXPECT_FALSE(is_right(item, "b"));
  EXPECT_FALSE(is_right(item, ""));
  EXPECT_EQ(judged_text(item, "caf\u00e9 \u00c9t\u00e9"), "\u00c9");
  EXPECT_EQ(judged_text(item, "none"), "");
}

TEST(Choice, IsTheLikeliestAndOfEqualOnesTheFirst) {
  const Item item{.answers = {"B"}, .choices = {"A", "B", "C"}};
  EXPECT_TRUE(is_right_choice(item, std::vector<double>{-3, -1, -2}));
  EXPECT_FALSE(is_right_choice(item, std::vector<double>{-3, -1, -0.5}));
  EXPECT_FALSE(is_right_choice(item, std::vector<double>{-1, -1, -1}));
  EXPECT_TRUE(is_right_choice(item, std::vector<double>{-2, -1, -1}));
  const Item either{.answers = {"B", "C"}, .choices = {"A", "B", "C"}};
  EXPECT_TRUE(is_right_choice(either, std::vector<double>{-3, -2, -1}));
  EXPECT_FALSE(is_right_choice(either, std::vector<double>{-1, -2, -3}));
}

TEST(Modules, TogetherAreTheDocuments) {
  const Item item{.documents = {"a\n\nb\n", "\nc", "d\n \n\ne\n\n"}};
  const std::string all = "a\n\nb\n\ncd\n \n\ne\n\n";
  for (const Grouping grouping : {Grouping::kDocuments, Grouping::kParagraphs, Grouping::kWhole}) {
    std::string together;
    for (const std::string& module : modules_of(item, grouping)) {
      EXPECT_FALSE(module.empty());
      together += module;
    }
    EXPECT_EQ(together, all) << kGroupingNames[static_cast<size_t>(grouping)];
  }
  EXPECT_EQ(modules_of(item, Grouping::kDocuments), item.documents);
  EXPECT_EQ(modules_of(item, Grouping::kParagraphs),
            (Texts{"a\n\n", "b\n", "\nc", "d\n \n\n", "e\n\n"}));
  EXPECT_EQ(modules_of(item, Grouping::kWhole), Texts{all});
}

TEST(Modules, AreNoneWithoutDocuments) {
  for (const Grouping grouping : {Grouping::kDocuments, Grouping::kParagraphs, Grouping::kWhole})
    EXPECT_TRUE(modules_of(Item{}, grouping).empty());
}

}  // namespace
}  // namespace reprise::workloads::questions
