// Tests how texts are prepared for the model: what surrounds them, what is cut, and what is
// refused.
#include "core/sentence/text_form.h"

#include <gtest/gtest.h>

#include "tests/core/sentence/sentence_testing.h"

namespace reprise::sentence {
namespace {

using model::expect_error;
using model::TempDir;
using Ids = std::vector<int32_t>;

class TextForms : public ::testing::Test {
 protected:
  TextForms() {
    dir_.write("tokenizer.json", bert_tokenizer_json());
    tokenizer_ = load_tokenizer(dir_.path());
  }
  [[nodiscard]] TextTokens tokens(std::string_view text, TextForm form = {}) const {
    return TextTokenizer(*tokenizer_, std::move(form)).tokens_of(text);
  }

  TempDir dir_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(TextForms, SpecialTokensStandAroundATextAndAPromptInside) {
  EXPECT_EQ(tokens("a b").ids, (Ids{2, 4, 5, 3}));
  EXPECT_EQ(tokens("a b").given, 4);
  const TextForm form{.prompt = Prompt::parse("c {text} d", "--prompt")};
  EXPECT_EQ(tokens("a", form).ids, (Ids{2, 6, 4, 7, 3}));
  EXPECT_EQ(tokens("[SEP]", form).ids, (Ids{2, 6, 3, 7, 3}));  // transformers reads it so
}

TEST_F(TextForms, ALongTextLosesItsEndAndKeepsItsSpecialTokens) {
  const TextTokens cut = tokens("a b c d", {.most_tokens = 4});
  EXPECT_EQ(cut.ids, (Ids{2, 4, 5, 3}));
  EXPECT_EQ(cut.given, 6);
  EXPECT_TRUE(cut.was_cut());
  EXPECT_FALSE(tokens("a b c d", {.most_tokens = 6}).was_cut());
  EXPECT_EQ(tokens("a b c", {.prompt = {.before = "h "}, .most_tokens = 4}).ids,
            (Ids{2, 11, 4, 3}));
  EXPECT_EQ(tokens("a b", {.most_tokens = 3}).ids, (Ids{2, 4, 3}));
}

TEST_F(TextForms, APromptBehindALongTextIsNotCutOff) {
  const TextForm form{.prompt = {.after = " h"}, .most_tokens = 4};
  EXPECT_EQ(tokens("a", form).ids, (Ids{2, 4, 11, 3}));
  expect_error([&] { (void)tokens("a b", form); }, {"5 tokens", "takes 4", "shorten"});
}

// As in sentence-transformers, the tokenizer's settings say which end is kept.
TEST_F(TextForms, ALongTextKeepsItsEndIfTheTokenizerTruncatesLeft) {
  Json json = Json::parse(bert_tokenizer_json());
  const auto expect_end = [&] {
    tokenizer_ = load_tokenizer(dir_.path());
    EXPECT_EQ(tokens("a b c d", {.most_tokens = 4}).ids, (Ids{2, 6, 7, 3}));
    EXPECT_EQ(tokens("a b c d", {.most_tokens = 4}).given, 6);
    EXPECT_EQ(tokens("a b", {.most_tokens = 4}).ids, (Ids{2, 4, 5, 3}));
  };
  json["truncation"] = {{"direction", "Left"}, {"max_length", 4}};
  dir_.write("tokenizer.json", json.dump());
  expect_end();
  EXPECT_EQ(tokens("a b", {.prompt = {.after = " h"}, .most_tokens = 4}).ids, (Ids{2, 5, 11, 3}));
  expect_error([&] { (void)tokens("a b", {.prompt = {.before = "h "}, .most_tokens = 4}); },
               {"5 tokens", "the prompt's beginning"});
  const TextTokenizer reader(*tokenizer_, {.most_tokens = 4});
  EXPECT_EQ(reader.most_bytes(), size_t{16} << 20);  // the end is known if all is read
  dir_.write("tokenizer_config.json", R"({"truncation_side": "right"})");
  tokenizer_ = load_tokenizer(dir_.path());
  EXPECT_EQ(tokens("a b c d", {.most_tokens = 4}).ids, (Ids{2, 4, 5, 3}));
  dir_.write("tokenizer.json", bert_tokenizer_json());
  dir_.write("tokenizer_config.json", R"({"truncation_side": "left"})");
  expect_end();
  dir_.write("tokenizer_config.json", R"({"truncation_side": "up"})");
  expect_error([&] { (void)load_tokenizer(dir_.path()); }, {"truncation_side", "\"up\""});
}

TEST_F(TextForms, TextsWithoutATokenAndBrokenOnesAreRefused) {
  for (const char* text : {"", " ", "\t\n", "\u00a0\u3000"})
    expect_error([&] { (void)tokens(text, {.prompt = {.before = "a "}}); }, {"is empty"});
  expect_error([&] { (void)tokens("\x01"); }, {"no token"});  // cleaned away by the normalizer
  expect_error([&] { (void)tokens("ab\xff"); }, {"byte 2"});
  expect_error([&] { (void)tokens("a\xe2\x82"); }, {"byte 1"});
  expect_error([&] { (void)tokens("a", {.most_tokens = 2}); }, {"2 around each:"});
}

// If the prompt fills the limit, all texts would become the same tokens.
TEST_F(TextForms, ALimitThatThePromptFillsIsRefused) {
  const TextForm before{.prompt = {.before = "H g "}, .lowers_case = true, .most_tokens = 4};
  expect_error([&] { (void)tokens("a", before); }, {"4 tokens", "2 around each", "prompt 2 more"});
  const TextForm both{.prompt = {.before = "h ", .after = " g"}, .most_tokens = 4};
  expect_error([&] { (void)tokens("a", both); }, {"4 tokens", "2 around each", "prompt 2 more"});
  const TextTokenizer fits(*tokenizer_, {.prompt = both.prompt, .most_tokens = 5});
  EXPECT_EQ(fits.prompt_tokens(), 2);
  EXPECT_EQ(fits.tokens_of("a").ids, (Ids{2, 11, 4, 10, 3}));
}

TEST_F(TextForms, SpaceAndCaseAreTheFormsToChange) {
  const std::string llama = R"({"version": "1.0", "added_tokens": [],
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "a": 1, "##A": 2, "##a": 3,
              "A": 4, " ": 5, "## ": 6}}})";
  dir_.write("tokenizer.json", llama);  // neither cuts at spaces nor knows case
  tokenizer_ = load_tokenizer(dir_.path());
  EXPECT_EQ(tokens(" aA ").ids, (Ids{5, 3, 2, 6}));
  EXPECT_EQ(tokens("aA ").ids, (Ids{1, 2, 6}));
  EXPECT_EQ(tokens("\u2003aA \n", {.strips_space = true}).ids, (Ids{1, 2}));
  EXPECT_EQ(tokens("AA", {.lowers_case = true}).ids, (Ids{1, 3}));
}

TEST_F(TextForms, SpaceAndCaseAreThoseOfPython) {
  dir_.write("tokenizer.json", R"({"version": "1.0", "added_tokens": [],
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 100,
              "vocab": {"[UNK]": 0, "\u03b1\u03c2": 1, "\u03b1\u03c3": 2}}})");
  tokenizer_ = load_tokenizer(dir_.path());
  EXPECT_EQ(tokens("\u0391\u03a3", {.lowers_case = true}).ids, (Ids{1}));  // a final sigma
  EXPECT_EQ(tokens("\x1c\u03b1\u03c2\x1f", {.strips_space = true}).ids, (Ids{1}));
  expect_error([&] { (void)tokens("\x1d \x1e"); }, {"is empty"});
}

TEST(Prompt, HoldsTheTextOnce) {
  const Prompt prompt = Prompt::parse("This sentence: \"{text}\" means in one word:", "--prompt");
  EXPECT_EQ(prompt.before, "This sentence: \"");
  EXPECT_EQ(prompt.after, "\" means in one word:");
  for (const char* wrong : {"no place", "{text} {text}", "{tex}", ""})
    expect_error([&] { (void)Prompt::parse(wrong, "--prompt"); }, {"--prompt", "{text}"});
}

}  // namespace
}  // namespace reprise::sentence
