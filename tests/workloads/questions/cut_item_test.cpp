// Tests items whose middle is cut out.
#include "workloads/questions/cut_item.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/tokenizer/tokenizer_testing.h"

namespace reprise::workloads::questions {
namespace {

using model::expect_error;
using Texts = std::vector<std::string>;

class CutMiddle : public ::testing::Test {
 protected:
  Item item_ = {
      .id = "i", .preamble = "pre ", .documents = {"one. ", "two. ", "six. "}, .question = "why?"};
  // Each byte is a token, 23 in all.
  const tokenizer::JsonTokenizer tokenizer_ =
      tokenizer::make_tokenizer(tokenizer::byte_level_json());
};

TEST_F(CutMiddle, TakesOutDocuments) {
  const std::string whole = item_.text();
  EXPECT_FALSE(cut_middle(item_, tokenizer_, 23, Truncation::kOfficial));
  EXPECT_EQ(item_.text(), whole);
  EXPECT_TRUE(cut_middle(item_, tokenizer_, 18, Truncation::kOfficial));
  EXPECT_EQ(item_.preamble, "pre ");
  EXPECT_EQ(item_.documents, (Texts{"one. ", "six. "}));
  EXPECT_EQ(item_.question, "why?");
}

TEST_F(CutMiddle, AsCodedRepeatsWhatFits) {
  Item longer = item_;
  EXPECT_TRUE(cut_middle(longer, tokenizer_, 40, Truncation::kAsCoded));
  EXPECT_EQ(longer.preamble, "");
  EXPECT_EQ(longer.documents, Texts{"pre one. two. six. pre one. two. six. "});
  EXPECT_EQ(longer.question, "why?");
  Item shorter = item_;
  EXPECT_TRUE(cut_middle(shorter, tokenizer_, 9, Truncation::kAsCoded));
  EXPECT_EQ(shorter.documents, Texts{"pre six. "});
  Item equal = item_;
  EXPECT_FALSE(cut_middle(equal, tokenizer_, 19, Truncation::kAsCoded)) << "as long as it is";
  EXPECT_EQ(equal.documents, Texts{"pre one. two. six. "});
}

TEST_F(CutMiddle, RefusesToLoseAllThatIsRead) {
  expect_error([&] { (void)cut_middle(item_, tokenizer_, 8, Truncation::kOfficial); },
               {"question i", "8 tokens", "documents"});
  Item alone = {.id = "j", .question = "why is that?"};
  EXPECT_FALSE(cut_middle(alone, tokenizer_, 12, Truncation::kOfficial));
}

}  // namespace
}  // namespace reprise::workloads::questions
