// Compares the logits of choices that follow a text with the model's own steps.
#include "core/sentence/choice_reader.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/core/sentence/sentence_testing.h"
#include "tests/support/data.h"
#include "tests/support/max_difference.h"

namespace reprise::sentence {
namespace {

using model::expect_error;
using model::TempDir;
using reprise::testing::max_difference;
using Texts = std::vector<std::string>;

class ChoiceReaders : public ::testing::Test {
 protected:
  ChoiceReaders() {
    dir_.write("tokenizer.json", bert_tokenizer_json());
    dir_.write("config.json", R"({"model_type": "llama", "vocab_size": 20, "hidden_size": 32,
      "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
      "intermediate_size": 48, "max_position_embeddings": 24, "tie_word_embeddings": true})");
    tokenizer_ = load_tokenizer(dir_.path());
    model_ = load();
  }
  [[nodiscard]] std::unique_ptr<model::Decoder> load() const {
    return model::load_decoder(dir_.path().string(), {.random_weights = true}, Context::machine());
  }
  TempDir dir_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<model::Decoder> model_;
};

TEST_F(ChoiceReaders, NumbersAreTheChoicesLogitsBehindTheText) {
  const Texts choices = {" a", " h", " c"};  // 4, 11, 6
  ChoiceReader reader(*model_, *tokenizer_, choices);
  ASSERT_EQ(reader.width(), 3);
  const std::vector<float> got = reader.read(Texts{"a b", "e f g"});
  const std::vector<int32_t> ids = {2, 8, 9, 10, 3};
  const model::EncoderText text{.ids = ids};
  std::vector<float> logits(20);
  model::Encoder(*model_).next_logits({&text, 1}, nullptr, logits);
  EXPECT_LE(
      max_difference(std::span(got).last(3), std::vector<float>{logits[4], logits[11], logits[6]}),
      1e-5);
}

// The head equals the embedding, so logits can be computed from the last hidden state. The two
// outputs must agree.
TEST_F(ChoiceReaders, LogitsFollowTheLastState) {
  const std::vector<int32_t> ids = {2, 8, 9, 3}, first = {5}, second = {6};
  const model::EncoderText texts[] = {{.ids = ids}, {.ids = first}, {.ids = ids}};
  std::vector<float> logits(3 * 20), states(3 * 32);
  model::Encoder encoder(*model_);
  encoder.next_logits(texts, nullptr, logits);
  encoder.encode({.texts = texts, .hidden_of = model::HiddenOf::kLastToken}, states);
  EXPECT_LE(max_difference(std::span(logits).first(20), std::span(logits).last(20)), 1e-5);
  EXPECT_GT(max_difference(std::span(logits).first(20), std::span(logits).subspan(20, 20)), 1e-2);
  EXPECT_LE(max_difference(std::span(states).first(32), std::span(states).last(32)), 1e-5);
}

TEST_F(ChoiceReaders, WhatCannotBeToldApartIsRefused) {
  expect_error(
      [&] {
        ChoiceReader reader(*model_, *tokenizer_, Texts{" a", "a"});
      },
      {"\"a\"", "same token"});
  expect_error([&] { ChoiceReader reader(*model_, *tokenizer_, Texts{" a", " "}); }, {"no token"});
  ChoiceReader reader(*model_, *tokenizer_, Texts{" a", " b"});
  std::string long_text;
  for (int i = 0; i < 30; ++i) long_text += "a ";
  expect_error([&] { (void)reader.read(Texts{long_text}); }, {"32 tokens", "takes 24", "shorten"});
  write_bert_config(dir_);
  const auto bert = load();
  expect_error([&] { ChoiceReader none(*bert, *tokenizer_, Texts{" a"}); }, {"no head"});
}

// In the vocabularies of decoders, a choice has the same token behind a prompt as by itself.
TEST(ChoiceReader, ALetterEndsInTheSameTokenBehindAnswer) {
  REPRISE_NEEDS_DATA();
  for (const char* name : {"llama2", "tinyllama", "falcon", "mpt"}) {
    const auto tokenizer = load_tokenizer(reprise::testing::data_dir() / "tokenizers" / name);
    std::set<int32_t> ids;
    for (const char* letter : {" A", " B", " C", " D"}) {
      const auto alone = tokenizer->encode(letter, {.add_special = false});
      const auto behind = tokenizer->encode(std::string("D. d\nAnswer:") + letter);
      EXPECT_EQ(alone.back(), behind.back()) << name << letter;
      ids.insert(alone.back());
    }
    EXPECT_EQ(ids.size(), 4u) << name;
  }
}

// AttnCache's program takes the letters alone. Only byte-level vocabularies tell them from letters
// with a space.
TEST(ChoiceReader, ABareLetterIsAnotherTokenInByteLevelVocabulariesAlone) {
  REPRISE_NEEDS_DATA();
  const auto last_token = [](const char* name, const char* text) {
    const auto tokenizer = load_tokenizer(reprise::testing::data_dir() / "tokenizers" / name);
    return tokenizer->encode(text, {.add_special = false}).back();
  };
  EXPECT_EQ(last_token("llama3", "A"), 32);
  EXPECT_EQ(last_token("llama3", "D"), 35);
  EXPECT_EQ(last_token("llama3", " A"), 362);
  EXPECT_EQ(last_token("llama2", "A"), last_token("llama2", " A"));
}

}  // namespace
}  // namespace reprise::sentence
