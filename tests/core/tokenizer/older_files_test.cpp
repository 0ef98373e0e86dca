// Tests that vocabularies saved before tokenizer.json existed give the same tokens as with it.
#include "core/tokenizer/older_files.h"

#include <unistd.h>

#include <algorithm>

#include "core/tokenizer/tokenizer.h"
#include "tests/core/tokenizer/sentence_piece_training.h"
#include "tests/core/tokenizer/tokenizer_testing.h"
#include "tests/support/json.h"

namespace reprise::tokenizer {
namespace {

using Ids = std::vector<int32_t>;

using OlderFilesFolder = TokenizerFolder;

TEST_F(OlderFilesFolder, AVocabularyOfWordPiecesIsBert) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##able\ncaf\n##e\r\nCaf\n,\n\u4e16\n");
  EXPECT_EQ(encode("Unable, \u4e16caf\u00e9"), (Ids{2, 4, 5, 9, 10, 6, 7, 3}));
  EXPECT_EQ(encode("nothing [SEP]"), (Ids{2, 1, 3, 3}));
  write("tokenizer_config.json", R"({"do_lower_case": false})");
  EXPECT_EQ(encode("Cafe Un"), (Ids{2, 8, 7, 1, 3}));
}

// ColBERT, for one, marks its texts with tokens that BERT leaves unused.
TEST_F(OlderFilesFolder, AnAddedTokenKeepsTheVocabularysIdAndItsOwnFlags) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[unused0]\nun\n");
  EXPECT_EQ(encode("un[unused0]"), (Ids{2, 5, 1, 1, 1, 3}));
  write("added_tokens.json", R"({"[unused0]": 4})");
  EXPECT_EQ(encode("un[UNUSED0]"), (Ids{2, 5, 4, 3}));
  // An added token that is also a special token is not normalized.
  write("special_tokens_map.json", R"({"additional_special_tokens": ["[unused0]"]})");
  EXPECT_EQ(encode("un[unused0]"), (Ids{2, 5, 4, 3}));
  EXPECT_EQ(encode("un[UNUSED0]"), (Ids{2, 5, 1, 1, 1, 3}));
  EXPECT_EQ(load_tokenizer(folder_)->decode(Ids{5, 4}), "un");
  std::filesystem::remove(folder_ / "special_tokens_map.json");
  const auto add = [&](const std::string& special) {
    write("tokenizer_config.json", R"({"added_tokens_decoder": {"4": {"content": "[unused0]",
                                      "special": )" +
                                       special + "}}}");
    return load_tokenizer(folder_);
  };
  EXPECT_EQ(add("false")->encode("un[UNUSED0]"), (Ids{2, 5, 4, 3}));
  EXPECT_EQ(add("true")->encode("un[unused0]"), (Ids{2, 5, 4, 3}));
  EXPECT_EQ(add("true")->encode("un[UNUSED0]"), (Ids{2, 5, 1, 1, 1, 3}));
  EXPECT_EQ(add("true")->decode(Ids{5, 4}, {.skip_special = true}), "un");
  write("tokenizer_config.json", R"({"added_tokens_decoder": {"6": {"content": "[Q]"}}})");
  EXPECT_NE(error_of([&] { (void)encode("un"); }).find("[Q]"), std::string::npos);
}

// transformers finds special tokens in texts even if no list has them as added tokens.
TEST_F(OlderFilesFolder, SpecialTokensThatAreOnlyNamedAreFoundInTexts) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[unused0]\nun\n<mask>\n");
  const Ids apart = encode("un[unused0]");
  for (const char* settings :
       {R"({"additional_special_tokens": ["[unused0]"]})",
        R"({"extra_special_tokens": {"marker": {"content": "[unused0]", "lstrip": false}}})"}) {
    write("tokenizer_config.json", settings);
    EXPECT_EQ(encode("un[unused0]"), (Ids{2, 5, 4, 3})) << settings;
    EXPECT_NE(encode("un[UNUSED0]"), (Ids{2, 5, 4, 3})) << settings;
    EXPECT_EQ(load_tokenizer(folder_)->decode(Ids{5, 4}), "un") << settings;
  }
  write("tokenizer_config.json", R"({"mask_token": "<mask>", "eos_token": "[unused0]"})");
  EXPECT_EQ(encode("un<mask>[unused0]"), (Ids{2, 5, 6, 4, 3}));
  // special_tokens_map.json comes first, but only without added_tokens_decoder.
  write("special_tokens_map.json", R"({"eos_token": "<mask>", "cls_token": "[CLS]"})");
  EXPECT_EQ(load_tokenizer(folder_)->eos_id(), 6);
  write("tokenizer_config.json", R"({"eos_token": "[unused0]", "added_tokens_decoder": {}})");
  EXPECT_EQ(load_tokenizer(folder_)->eos_id(), 4);
  // The model has no row for a token that the vocabulary lacks.
  write("tokenizer_config.json", R"({"additional_special_tokens": ["[Q]"]})");
  EXPECT_NE(error_of([&] { (void)encode("un"); }).find("[Q]"), std::string::npos);
  write("tokenizer_config.json", R"({"mask_token": "[Q]"})");
  EXPECT_EQ(encode("un[unused0]"), apart);
}

TEST_F(OlderFilesFolder, ABrokenVocabularyIsNamed) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n");
  EXPECT_NE(error_of([&] { (void)encode("a"); }).find("no token [SEP]"), std::string::npos);
  write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\na\n");
  EXPECT_NE(error_of([&] { (void)encode("a"); }).find("vocab.txt:5"), std::string::npos);
}

// Japanese BERT cuts words with MeCab, and Qwen2 and GPT-NeoX cut digits and special tokens in
// other ways, although their files have the same names as BERT's and RoBERTa's.
TEST_F(OlderFilesFolder, OtherClassesAreRefusedByName) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n");
  const auto refuses = [&](const char* file, const std::string& name,
                           const std::string& key = "tokenizer_class") {
    write(file, R"({")" + key + R"(": ")" + name + "\"}");
    const std::string error = error_of([&] { (void)encode("un"); });
    return error.find(file) != error.npos && error.find(name) != error.npos &&
           error.find("tokenizer.json") != error.npos;
  };
  EXPECT_TRUE(refuses("tokenizer_config.json", "BertJapaneseTokenizer"));
  std::filesystem::remove(folder_ / "tokenizer_config.json");
  EXPECT_TRUE(refuses("config.json", "BertJapaneseTokenizer"));
  EXPECT_TRUE(refuses("config.json", "roformer", "model_type"));
  write("config.json", R"({"model_type": "bert"})");
  EXPECT_EQ(encode("un"), (Ids{2, 4, 3}));
  write("config.json", R"({"model_type": "qwen2", "tokenizer_class": "BertTokenizer"})");
  EXPECT_EQ(encode("un"), (Ids{2, 4, 3}));
  // The class in tokenizer_config.json comes first.
  write("config.json", R"({"tokenizer_class": "BertJapaneseTokenizer"})");
  write("tokenizer_config.json", R"({"tokenizer_class": "DistilBertTokenizerFast"})");
  EXPECT_EQ(encode("un"), (Ids{2, 4, 3}));
  std::filesystem::remove(folder_ / "vocab.txt");
  write("vocab.json", byte_level_json()["model"]["vocab"].dump());
  write("merges.txt", "t h\nth e\n\u0120 the\n");
  EXPECT_TRUE(refuses("tokenizer_config.json", "Qwen2Tokenizer"));
  EXPECT_TRUE(refuses("tokenizer_config.json", "GPTNeoXTokenizer"));
  std::filesystem::remove(folder_ / "tokenizer_config.json");
  EXPECT_TRUE(refuses("config.json", "qwen2", "model_type"));
  write("tokenizer_config.json", R"({"tokenizer_class": "RobertaTokenizer"})");
  EXPECT_EQ(encode("the"), (Ids{257}));
}

TEST_F(OlderFilesFolder, MergesWithTheirVocabularyAreByteLevelBpe) {
  Json vocab = byte_level_json()["model"]["vocab"];
  const Json plain = vocab;
  vocab["<s>"] = 300;
  vocab["</s>"] = 301;
  vocab["<mask>"] = 302;
  write("vocab.json", vocab.dump());
  write("merges.txt", "#version: 0.2\nt h\nth e\n\u0120 the\n");
  EXPECT_EQ(encode("the the"), (Ids{300, 257, 258, 301}));
  EXPECT_EQ(encode("the <mask>"), (Ids{300, 257, 302, 301}));
  write("vocab.json", plain.dump());
  EXPECT_EQ(encode("the the"), (Ids{257, 258}));
  write("tokenizer_config.json", R"({"add_prefix_space": true})");
  EXPECT_EQ(encode("the the"), (Ids{258, 258}));
  std::filesystem::remove(folder_ / "tokenizer_config.json");
  vocab["[CLS]"] = 303;
  vocab["[SEP]"] = 304;
  write("vocab.json", vocab.dump());
  EXPECT_EQ(encode("the"), (Ids{303, 257, 304}));
  std::filesystem::remove(folder_ / "merges.txt");
  EXPECT_NE(error_of([&] { (void)encode("a"); }).find("merges.txt"), std::string::npos);
}

TEST_F(OlderFilesFolder, ASentencePieceModelOfDebertaNeedsItsTokens) {
  write("spm.model", train_sentence_piece("unigram"));
  EXPECT_NE(error_of([&] { (void)encode("a"); }).find("[CLS]"), std::string::npos);
  // A tokenizer.json made from spm.model does not change this, because its unigram model is not
  // read.
  write("tokenizer.json", R"({"version": "1.0", "model": {"type": "Unigram", "vocab": []}})");
  EXPECT_NE(error_of([&] { (void)encode("a"); }).find("spm.model"), std::string::npos);
  std::filesystem::remove(folder_ / "spm.model");
  const std::string error = error_of([&] { (void)encode("a"); });
  EXPECT_NE(error.find("Unigram"), std::string::npos);
  EXPECT_NE(error.find("spm.model"), std::string::npos);
}

// If the model contains DeBERTa's tokens [CLS] and [SEP], they open and close each text.
TEST_F(OlderFilesFolder, ASentencePieceModelOfDebertaIsSurroundedAsBert) {
  write("spm.model", train_sentence_piece("unigram", "identity", true, "[CLS],[SEP]"));
  const auto tokenizer = load_tokenizer(folder_);
  const Ids bare = tokenizer->encode("the quick fox", {.add_special = false});
  const Ids whole = tokenizer->encode("the quick fox");
  ASSERT_EQ(whole.size(), bare.size() + 2);
  EXPECT_EQ(tokenizer->token_text(whole.front()), "[CLS]");
  EXPECT_EQ(tokenizer->token_text(whole.back()), "[SEP]");
  EXPECT_TRUE(std::equal(bare.begin(), bare.end(), whole.begin() + 1));
  // [MASK] may be in a file beside the model.
  write("added_tokens.json", R"({"[MASK]": 128000})");
  EXPECT_EQ(encode("the quick fox"), whole);
  for (const char* key : {"do_lower_case", "split_by_punct"}) {
    write("tokenizer_config.json", fmt::format(R"({{"{}": false}})", key));
    EXPECT_EQ(encode("the quick fox"), whole);
    write("tokenizer_config.json", fmt::format(R"({{"{}": true}})", key));
    EXPECT_NE(error_of([&] { (void)encode("a"); }).find(key), std::string::npos);
  }
}

TEST(OlderFiles, BertsVocabularyAloneEncodesAsItsTokenizerJson) {
  REPRISE_NEED_DATA();
  const auto source = data_folder() / "tokenizers" / "bert";
  const auto folder =
      std::filesystem::path(::testing::TempDir()) / fmt::format("reprise_bert_{}", ::getpid());
  std::filesystem::create_directories(folder);
  for (const char* name : {"vocab.txt", "tokenizer_config.json"})
    std::filesystem::copy_file(source / name, folder / name,
                               std::filesystem::copy_options::overwrite_existing);
  const auto older = load_tokenizer(folder), newer = load_tokenizer(source);
  std::mt19937_64 random(3);
  for (int i = 0; i < 500; ++i) {
    const std::string text = random_text(random, 20);
    EXPECT_EQ(older->encode(text), newer->encode(text)) << text;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace reprise::tokenizer
