// Compares SentencePiece models that are trained here with the library itself.
#include "core/tokenizer/sentence_piece.h"

#include <sentencepiece_processor.h>
#include <unistd.h>

#include <fstream>

#include "tests/core/tokenizer/sentence_piece_training.h"
#include "tests/core/tokenizer/tokenizer_testing.h"

namespace reprise::tokenizer {
namespace {

using Ids = std::vector<int32_t>;

class SentencePiece : public ::testing::TestWithParam<std::tuple<const char*, const char*, bool>> {
 protected:
  void SetUp() override {
    const auto [type, rules, has_bytes] = GetParam();
    bytes_ = train_sentence_piece(type, rules, has_bytes);
    ASSERT_FALSE(bytes_.empty());
  }
  std::string bytes_;
};

// Our decoder streams, the library's does not; both must give the same text for any ids.
TEST_P(SentencePiece, DecodesLikeTheLibrary) {
  const SentencePieceTokenizer tokenizer(bytes_, "test.model");
  sentencepiece::SentencePieceProcessor library;
  ASSERT_TRUE(library.LoadFromSerializedProto(bytes_).ok());
  if (std::get<1>(GetParam()) == std::string_view("identity") &&
      library.DecodeIds(library.EncodeAsIds(" a")) != " a")
    GTEST_SKIP() << "this SentencePiece loses the space that a text begins with, as 0.1.96 does";
  std::mt19937_64 random(5);
  for (int i = 0; i < 5000; ++i) {
    Ids ids;
    for (size_t n = random() % 10; n > 0; --n)
      ids.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(tokenizer.vocab_size())));
    if (random() % 2 == 0) ids = tokenizer.encode(random_text(random, 10));
    std::string expected;
    ASSERT_TRUE(library.Decode(ids, &expected).ok());
    ASSERT_EQ(tokenizer.decode(ids), expected) << i;
    ASSERT_EQ(decode_streaming(tokenizer, ids), expected) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Trained, SentencePiece,
                         ::testing::Values(std::tuple("bpe", "identity", true),
                                           std::tuple("bpe", "nmt_nfkc", true),
                                           std::tuple("unigram", "identity", true),
                                           std::tuple("unigram", "nmt_nfkc", false)));

TEST(SentencePieceTokenizer, AddsBosAndComesBack) {
  const SentencePieceTokenizer tokenizer(train_sentence_piece("bpe"), "test.model");
  EXPECT_EQ(tokenizer.bos_id(), 1);
  EXPECT_EQ(tokenizer.eos_id(), 2);
  EXPECT_EQ(tokenizer.encode("the").front(), 1);
  EXPECT_NE(tokenizer.encode("the", {.add_special = false}).front(), 1);
  std::mt19937_64 random(6);
  for (int i = 0; i < 500; ++i) {
    const std::string text = random_text(random, 20);
    if (text.find("\u2581") != std::string::npos) continue;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

TEST(SentencePieceTokenizer, ConfigTurnsBosOffAndEosOn) {
  TokenizerConfig config;
  config.add_bos_token = false;
  config.add_eos_token = true;
  const SentencePieceTokenizer tokenizer(train_sentence_piece("bpe"), "test.model", config);
  const Ids ids = tokenizer.encode("the");
  EXPECT_NE(ids.front(), 1);
  EXPECT_EQ(ids.back(), 2);
  EXPECT_EQ(tokenizer.decode(ids), "the");
  EXPECT_EQ(tokenizer.decode(ids, {.skip_special = false}), "the</s>");
}

TEST(SentencePieceTokenizer, SpecialTokensThatTheModelLacksAreNoted) {
  TokenizerConfig config;
  config.source = "tokenizer_config.json";
  config.bos_token = "<s>";
  config.eos_token = "<|im_end|>";
  const SentencePieceTokenizer tokenizer(train_sentence_piece("bpe"), "test.model", config);
  EXPECT_EQ(tokenizer.bos_id(), 1);
  EXPECT_FALSE(tokenizer.eos_id().has_value());
  ASSERT_FALSE(tokenizer.notes().empty());
  EXPECT_EQ(
      tokenizer.notes().back(),
      "tokenizer_config.json: \"eos_token\" is \"<|im_end|>\", which the tokenizer does not have");
}

// transformers finds added tokens in texts, so a folder whose tokenizer file lacks one is refused.
TEST(SentencePieceTokenizer, TokensAddedBesideTheFileAreRefusedByName) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / fmt::format("reprise_added_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
  };
  const auto refuses = [&](const std::string& token, const char* file) {
    const std::string error = error_of([&] { (void)load_tokenizer(folder); });
    return error.find('"' + token + '"') != error.npos && error.find(file) != error.npos;
  };
  write("tokenizer.model", train_sentence_piece("bpe"));
  write("added_tokens.json", R"({"<|im_start|>": 32001})");
  EXPECT_TRUE(refuses("<|im_start|>", "added_tokens.json"));
  const auto decoder = [](const std::string& token) {
    return R"({"added_tokens_decoder": {"1": {"content": "<s>", "special": true},
                                       "32000": {"special": true, "content": ")" +
           token + "\"}}}";
  };
  write("tokenizer_config.json", decoder("<|im_end|>"));
  EXPECT_TRUE(refuses("<|im_end|>", "tokenizer_config.json"));
  // With added_tokens_decoder, added_tokens.json does not count.
  write("tokenizer_config.json", decoder("</s>"));
  EXPECT_EQ(load_tokenizer(folder)->eos_id(), 2);
  write("tokenizer_config.json", decoder("[PAD]"));  // padding is in no text
  EXPECT_EQ(load_tokenizer(folder)->eos_id(), 2);
  write("tokenizer_config.json", decoder(""));
  EXPECT_EQ(load_tokenizer(folder)->eos_id(), 2);
  // transformers never cuts an added token, but SentencePiece may cut an ordinary piece.
  const std::string piece = load_tokenizer(folder)->token_text(300);
  write("tokenizer_config.json", decoder(piece));
  EXPECT_TRUE(refuses(piece, "tokenizer_config.json"));
  write("tokenizer.json", llama_json().dump());
  write("tokenizer_config.json", decoder("</s>"));
  EXPECT_EQ(load_tokenizer(folder)->eos_id(), 2);
  write("tokenizer_config.json", decoder("<|im_end|>"));
  EXPECT_TRUE(refuses("<|im_end|>", "tokenizer_config.json"));
  // A padding token that also closes texts stands in texts.
  const std::string settings = decoder("<|im_end|>");
  const auto with = [&](const std::string& more) {
    write("tokenizer_config.json", settings.substr(0, settings.size() - 1) + more + "}");
  };
  with(R"(, "pad_token": "<|im_end|>")");
  EXPECT_EQ(load_tokenizer(folder)->eos_id(), 2);
  with(R"(, "pad_token": "<|im_end|>", "eos_token": "<|im_end|>")");
  EXPECT_TRUE(refuses("<|im_end|>", "tokenizer_config.json"));
  std::filesystem::remove_all(folder);
}

TEST(SentencePieceTokenizer, OtherFilesAreErrors) {
  for (const std::string bytes : {"", "hello", "\x0a\xff\xff\xff\xff\x0f", "{}"})
    EXPECT_NE(error_of([&] { SentencePieceTokenizer(bytes, "test.model"); }).find("test.model"),
              std::string::npos);
  const std::string model = train_sentence_piece("bpe");
  error_of([&] { SentencePieceTokenizer(model.substr(0, model.size() / 2), "test.model"); });
}

TEST(SentencePieceTokenizer, InvalidUtf8IsAnErrorWithItsOffset) {
  const SentencePieceTokenizer tokenizer(train_sentence_piece("bpe"), "test.model");
  EXPECT_NE(error_of([&] { (void)tokenizer.encode("a\xff"); }).find("byte 1"), std::string::npos);
}

}  // namespace
}  // namespace reprise::tokenizer
