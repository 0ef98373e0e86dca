// Tests questions as tokens of the shipped model and as bytes.
#include "experiments/kinds/accuracy/item_prompt.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "experiments/kinds/shared/places.h"
#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::experiments {
namespace {

using model::expect_error;
using workloads::questions::Grouping;
using workloads::questions::Item;
using Tokens = std::vector<int32_t>;

class ItemPromptTest : public ::testing::Test {
 protected:
  ItemPrompt compile(const Item& item, const ItemLayout& layout = {}) const {
    return compile_item(item, layout, *tokenizer_, encoder_);
  }
  Tokens encode(const std::string& text) const {
    return tokenizer_->encode(text, {.add_special = false});
  }

  const std::unique_ptr<Tokenizer> tokenizer_ = load_tokenizer(resolve_model("quickstart"));
  const pml::TextEncoder encoder_ = pml::encoder_of(*tokenizer_);
  const Item item_{.id = "q-1",
                   .preamble = "Facts & <rules>:\n",
                   .documents = {"The red key is in box 4.\n",
                                 "The cup is in box 7.\n\nIt is old.\n", "The map is in box 9.\n"},
                   .question = "Question: where is the red key?\nAnswer:",
                   .answers = {"box 4"},
                   .choices = {"box 4", "box 7"}};
};

TEST_F(ItemPromptTest, EachPartHasItsOwnTokensAtTheNextPositions) {
  const ItemPrompt prompt = compile(item_);
  ASSERT_EQ(prompt.schema.pieces.size(), 4u);
  Tokens own = {1};  // <s>
  for (const int32_t id : encode(item_.preamble)) own.push_back(id);
  EXPECT_EQ(prompt.schema.pieces[0].tokens, own);
  int64_t next = 0;
  for (size_t i = 0; i < 4; ++i) {
    if (i > 0) {
      EXPECT_EQ(prompt.schema.pieces[i].tokens, encode(item_.documents[i - 1]));
    }
    EXPECT_EQ(prompt.schema.pieces[i].first, next);
    next = prompt.schema.pieces[i].end();
  }
  EXPECT_EQ(prompt.prompt.pieces, (Tokens{0, 1, 2, 3}));
  ASSERT_EQ(prompt.prompt.new_runs.size(), 1u);
  EXPECT_EQ(prompt.prompt.new_runs[0].tokens, encode(item_.question));
  EXPECT_EQ(prompt.prompt.new_runs[0].first, next);
  EXPECT_EQ(prompt.tokens(), prompt.prompt.end);
}

TEST_F(ItemPromptTest, ChoicesAreTheTokensBehindTheQuestion) {
  const ItemPrompt prompt = compile(item_);
  ASSERT_EQ(prompt.choices.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    Tokens both = encode(item_.question);
    both.insert(both.end(), prompt.choices[i].begin(), prompt.choices[i].end());
    EXPECT_EQ(both, encode(item_.question + " " + item_.choices[i]));
  }
  EXPECT_EQ(prompt.longest_choice(), std::ssize(prompt.choices[0]));
}

TEST_F(ItemPromptTest, GroupingChangesModulesAndTheirSets) {
  EXPECT_EQ(compile(item_).schema.modules.size(), 1u + 3u);
  EXPECT_EQ(compile(item_, {.grouping = Grouping::kParagraphs}).schema.modules.size(), 1u + 4u);
  const ItemPrompt whole = compile(item_, {.grouping = Grouping::kWhole});
  ASSERT_EQ(whole.schema.modules.size(), 1u + 1u);
  EXPECT_EQ(whole.schema.pieces[1].tokens,
            encode(item_.documents[0] + item_.documents[1] + item_.documents[2]));
  ASSERT_EQ(whole.schema.scaffolds.size(), 1u);
  EXPECT_EQ(whole.schema.scaffolds[0].modules, (Tokens{0, 1}));
}

TEST_F(ItemPromptTest, ScaffoldsAreAllModulesOrPairs) {
  const ItemPrompt all = compile(item_);
  ASSERT_EQ(all.schema.scaffolds.size(), 1u);
  EXPECT_EQ(all.schema.scaffolds[0].modules, (Tokens{0, 1, 2, 3}));
  const ItemPrompt pairs = compile(item_, {.scaffolds = ScaffoldSets::kPairs});
  ASSERT_EQ(pairs.schema.scaffolds.size(), 1u);
  EXPECT_EQ(pairs.schema.scaffolds[0].modules, (Tokens{1, 2}));
  EXPECT_EQ(pairs.prompt.scaffolds, Tokens{0});
}

TEST_F(ItemPromptTest, WithoutDocumentsThePromptIsThePreambleAndTheQuestion) {
  Item item = item_;
  item.documents.clear();
  const ItemPrompt prompt = compile(item);
  EXPECT_EQ(prompt.schema.modules.size(), 1u);
  EXPECT_TRUE(prompt.schema.scaffolds.empty());
  EXPECT_EQ(prompt.prompt.pieces, Tokens{0});
}

// SentencePiece puts a space before each text, so the tokens of several parts are not those of the
// whole. With a single part they are.
TEST_F(ItemPromptTest, TellsWhetherThePartsAreTheWholesTokens) {
  EXPECT_FALSE(compile(item_).is_as_whole);
  EXPECT_TRUE(compile({.id = "q", .question = "Where is it?"}).is_as_whole);
}

TEST_F(ItemPromptTest, NamesTheQuestionOfWhatCannotBe) {
  Item control = item_;
  control.documents[1] = std::string("a\0b\n", 4);
  expect_error([&] { (void)compile(control); }, {"question q-1", "module d2", "U+0000"});
  expect_error([&] { (void)compile(item_, {.max_positions = 20}); }, {"question q-1", "20"});
}

TEST(TokensBehind, RefusesAContinuationThatChangesWhatItFollows) {
  // In this encoding, two letters make a token.
  const pml::TextEncoder pairs = {.encode = [](std::string_view text) {
    Tokens ids;
    for (size_t i = 0; i < text.size(); i += 2)
      ids.push_back(text[i] * 256 + (i + 1 < text.size() ? text[i + 1] : 0));
    return ids;
  }};
  EXPECT_EQ(tokens_behind("abcd", "ef", pairs), (Tokens{'e' * 256 + 'f'}));
  expect_error([&] { (void)tokens_behind("abc", "def", pairs); },
               {"\"def\"", "changes the tokens"});
  expect_error([&] { (void)tokens_behind("abcd", "", pairs); }, {"changes the tokens"});
}

}  // namespace
}  // namespace reprise::experiments
