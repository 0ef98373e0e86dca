// Tests sentence vectors of small encoders and decoders, for texts one by one and together.
#include "core/sentence/embedder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/sentence/sentence_testing.h"
#include "tests/support/max_difference.h"

namespace reprise::sentence {
namespace {

using model::expect_error;
using model::TempDir;
using reprise::testing::max_difference;
using Texts = std::vector<std::string>;

struct Loaded {
  explicit Loaded(const std::filesystem::path& folder, const Context& context = Context::machine())
      : tokenizer(load_tokenizer(folder)),
        decoder(model::load_decoder(folder.string(), {.random_weights = true}, context)) {}
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<model::Decoder> decoder;
};

double length_of(std::span<const float> vector) {
  double squares = 0;
  for (const float value : vector) squares += double{value} * value;
  return std::sqrt(squares);
}

class Embedders : public ::testing::Test {
 protected:
  Embedders() { write_sentence_model(dir_); }
  TempDir dir_;
};

TEST_F(Embedders, AFoldersOwnSettingsAreUsed) {
  const Loaded loaded(dir_.path());
  const EmbedSettings settings = settings_of(dir_.path().string(), loaded.decoder->config());
  EXPECT_EQ(settings.form.most_tokens, 12);
  EXPECT_TRUE(settings.form.strips_space && settings.pooling.normalizes);
  Embedder embedder(*loaded.decoder, *loaded.tokenizer, settings);
  EXPECT_EQ(embedder.width(), 32);
  const std::vector<float> two = embedder.read(Texts{"a bc", "H g f e d c b a a a a a a"});
  EXPECT_NEAR(length_of(std::span(two).first(32)), 1.0, 1e-6);
  EXPECT_TRUE(embedder.tokens_of("H g f e d c b a a a a a a").was_cut());
}

TEST_F(Embedders, OtherFoldersTakeTheMeanAsItIsUpToTheModelsPositions) {
  std::filesystem::remove(dir_.path() / "modules.json");
  const Loaded loaded(dir_.path());
  const EmbedSettings settings = settings_of(dir_.path().string(), loaded.decoder->config());
  EXPECT_EQ(settings.form.most_tokens, 24);
  EXPECT_EQ(settings.pooling.text(), "mean, not normalized");
  EXPECT_EQ(model_folder_of(dir_.path().string()), dir_.path().string());
}

// The vector must be the mean, computed here, of the encoder's states.
TEST_F(Embedders, TheVectorIsTheMeanOfTheStates) {
  const Loaded loaded(dir_.path());
  Embedder embedder(*loaded.decoder, *loaded.tokenizer, {});
  const std::vector<float> vector = embedder.read(Texts{"a b c"});
  const std::vector<int32_t> ids = {2, 4, 5, 6, 3};
  std::vector<float> states(5 * 32), want(32, 0.0f);
  const model::EncoderText text{.ids = ids};
  model::Encoder(*loaded.decoder).encode({.texts = {&text, 1}}, states);
  for (size_t i = 0; i < states.size(); ++i) want[i % 32] += states[i] / 5;
  EXPECT_LE(max_difference(vector, want), 1e-5);
}

// A step holds some 2,048 tokens, so 600 texts take several steps, in which texts of all lengths
// are mixed.
TEST_F(Embedders, ManyTextsGetTheVectorsThatEachGetsAlone) {
  const Loaded loaded(dir_.path());
  for (const std::vector<PoolingMode>& modes :
       {std::vector{PoolingMode::kMean}, std::vector{PoolingMode::kCls},
        std::vector{PoolingMode::kLast},
        std::vector{PoolingMode::kCls, PoolingMode::kMax, PoolingMode::kWeightedMean}}) {
    EmbedSettings settings;
    settings.pooling.modes = modes;
    settings.form.most_tokens = 24;
    Embedder embedder(*loaded.decoder, *loaded.tokenizer, settings);
    Texts texts;
    for (int i = 0; i < 600; ++i) {
      std::string text = "a";
      for (int word = 0; word < i % 19; ++word)
        text += std::string(" ") + static_cast<char>('a' + (i + word * word) % 8);
      texts.push_back(text);
    }
    const std::vector<float> all = embedder.read(texts);
    const auto width = static_cast<size_t>(embedder.width());
    ASSERT_EQ(all.size(), texts.size() * width);
    for (const size_t i : {size_t{0}, size_t{1}, size_t{18}, size_t{205}, size_t{599}}) {
      const std::vector<float> alone = embedder.read(Texts{texts[i]});
      EXPECT_LE(max_difference(alone, std::span(all).subspan(i * width, width)), 1e-5) << i;
    }
  }
}

TEST_F(Embedders, DecodersGiveTheirLastState) {
  dir_.write("config.json", R"({"model_type": "llama", "vocab_size": 20, "hidden_size": 32,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 48, "max_position_embeddings": 24, "tie_word_embeddings": true})");
  std::filesystem::remove(dir_.path() / "modules.json");
  const Loaded loaded(dir_.path());
  const EmbedSettings settings = settings_of(dir_.path().string(), loaded.decoder->config());
  EXPECT_EQ(settings.pooling.text(), "lasttoken, not normalized");
  Embedder embedder(*loaded.decoder, *loaded.tokenizer, settings);
  const std::vector<float> two = embedder.read(Texts{"a", "b c"});
  const std::vector<int32_t> ids = {2, 5, 6, 3};
  std::vector<float> states(4 * 32);
  const model::EncoderText text{.ids = ids};
  model::Encoder(*loaded.decoder).encode({.texts = {&text, 1}}, states);
  EXPECT_LE(max_difference(std::span(two).last(32), std::span(states).last(32)), 1e-5);
}

TEST_F(Embedders, ThreadsChangeNothingButRounding) {
  Context one = Context::machine();
  one.threads = 1;
  const Loaded many(dir_.path()), single(dir_.path(), one);
  const Texts texts = {"a b c d e f g h", "h", "c c c"};
  EXPECT_LE(max_difference(Embedder(*many.decoder, *many.tokenizer, {}).read(texts),
                           Embedder(*single.decoder, *single.tokenizer, {}).read(texts)),
            1e-6);
}

TEST_F(Embedders, ErrorsNameTheTextAndWhatDoesNotBelongTogether) {
  const Loaded loaded(dir_.path());
  Embedder embedder(*loaded.decoder, *loaded.tokenizer, {});
  expect_error([&] { (void)embedder.read(Texts{"a", " "}); }, {"text 2", "empty"});
  EXPECT_TRUE(embedder.read(Texts{}).empty());
  EmbedSettings settings{.takes_prompt = false};
  settings.form.prompt.before = "a ";
  expect_error([&] { Embedder refused(*loaded.decoder, *loaded.tokenizer, settings); },
               {"include_prompt"});
  dir_.write("config.json", R"({"model_type": "bert", "vocab_size": 5, "hidden_size": 32,
    "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 48})");
  const Loaded small(dir_.path());
  Embedder other(*small.decoder, *small.tokenizer, {});
  expect_error([&] { (void)other.read(Texts{"h"}); }, {"token 11", "vocabulary of 5"});
}

}  // namespace
}  // namespace reprise::sentence
