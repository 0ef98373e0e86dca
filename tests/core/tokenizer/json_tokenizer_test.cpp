// Tests JsonTokenizer with small but complete tokenizer.json files: models, added tokens, templates
// and errors.
#include "core/tokenizer/json_tokenizer.h"

#include <thread>

#include "tests/core/tokenizer/tokenizer_testing.h"
#include "tests/support/json.h"

namespace reprise::tokenizer {
namespace {

using Ids = std::vector<int32_t>;

std::vector<std::string> tokens(const Json& json, const std::string& text,
                                bool add_special = false) {
  const JsonTokenizer tokenizer = make_tokenizer(json);
  std::vector<std::string> texts;
  for (const int32_t id : tokenizer.encode(text, {.add_special = add_special}))
    texts.push_back(tokenizer.token_text(id));
  return texts;
}
using Texts = std::vector<std::string>;

TEST(JsonTokenizer, MergesByRankThenFromTheLeft) {
  EXPECT_EQ(tokens(llama_json(), "ab abc"), (Texts{"\u2581ab", "\u2581ab", "c"}));
  EXPECT_EQ(tokens(llama_json(), "cabc"), (Texts{"\u2581", "c", "ab", "c"}));
  EXPECT_EQ(tokens(byte_level_json(), "the the"), (Texts{"the", "\u0120the"}));
}

TEST(JsonTokenizer, TokenInTheVocabularySkipsMergesIfToldTo) {
  Json json = llama_json();
  EXPECT_EQ(tokens(json, "<s>abc"), (Texts{"<s>", "\u2581ab", "c"}));
  json["normalizer"] = nullptr;
  EXPECT_EQ(tokens(json, "abc"), (Texts{"ab", "c"}));
  json["model"]["ignore_merges"] = true;
  EXPECT_EQ(tokens(json, "abc"), (Texts{"abc"}));
}

TEST(JsonTokenizer, MergesMayBePairs) {
  Json json = llama_json();
  Json pairs = Json::array();
  for (const Json& merge : json["model"]["merges"]) {
    const auto text = merge.get<std::string>();
    pairs.push_back({text.substr(0, text.find(' ')), text.substr(text.find(' ') + 1)});
  }
  json["model"]["merges"] = pairs;
  EXPECT_EQ(tokens(json, "ab abc"), (Texts{"\u2581ab", "\u2581ab", "c"}));
}

TEST(JsonTokenizer, UnknownCharactersAreBytesOrUnknownTokens) {
  Json json = llama_json();
  EXPECT_EQ(tokens(json, "a\u00e9"), (Texts{"\u2581a", "<0xC3>", "<0xA9>"}));
  json["model"]["byte_fallback"] = false;
  EXPECT_EQ(tokens(json, "axyb"), (Texts{"\u2581a", "<unk>", "b"}));
  json["model"]["fuse_unk"] = false;
  EXPECT_EQ(tokens(json, "axyb"), (Texts{"\u2581a", "<unk>", "<unk>", "b"}));
  json["model"]["unk_token"] = nullptr;
  EXPECT_EQ(tokens(json, "axyc"), (Texts{"\u2581a", "c"}));
}

TEST(JsonTokenizer, TemplatesGoAroundTheText) {
  EXPECT_EQ(tokens(llama_json(), "a", true), (Texts{"<s>", "\u2581a"}));
  EXPECT_EQ(tokens(llama_json(), "", true), (Texts{"<s>"}));
  EXPECT_EQ(tokens(bert_json(), "the", true), (Texts{"[CLS]", "the", "[SEP]"}));
  Json json = bert_json();
  json["post_processor"] = {{"type", "Sequence"},
                            {"processors",
                             {{{"type", "ByteLevel"}, {"trim_offsets", false}},
                              {{"type", "RobertaProcessing"},
                               {"sep", {"[SEP]", 3}},
                               {"cls", {"[CLS]", 2}},
                               {"trim_offsets", true},
                               {"add_prefix_space", true}}}}};
  EXPECT_EQ(tokens(json, "the", true), (Texts{"[CLS]", "the", "[SEP]"}));
}

TEST(JsonTokenizer, WordPieceTakesTheLongestToken) {
  EXPECT_EQ(tokens(bert_json(), "Unaffable, caf\u00e9 \u4e16\u754c."),
            (Texts{"un", "##aff", "##able", ",", "caf", "##e", "\u4e16", "\u754c", "."}));
  EXPECT_EQ(tokens(bert_json(), "unx"), (Texts{"[UNK]"}));
  EXPECT_EQ(tokens(bert_json(), "un" + std::string(30, 'e')), (Texts{"[UNK]"}));
  EXPECT_EQ(make_tokenizer(bert_json()).decode(Ids{2, 4, 5, 6, 9, 13, 10, 3}), "unaffable, the.");
}

Json with_added(const std::string& content, const Json& options) {
  Json json = byte_level_json();
  Json token = {{"id", 260}, {"content", content}, {"special", false}, {"normalized", false}};
  token.update(options);
  json["added_tokens"].push_back(token);
  return json;
}

TEST(JsonTokenizer, AddedTokensAreFoundLongestFirst) {
  Json json = with_added("<|end|>!", Json::object());
  EXPECT_EQ(tokens(json, "a<|end|>!<|end|>"), (Texts{"a", "<|end|>!", "<|end|>"}));
  EXPECT_EQ(tokens(json, "<|end"), (Texts{"<", "|", "e", "n", "d"}));
}

TEST(JsonTokenizer, AddedTokensTakeTheSpacesAroundThem) {
  const std::string text = "a \n<x> \tb";
  EXPECT_EQ(tokens(with_added("<x>", {{"lstrip", true}}), text).size(), 5u);
  EXPECT_EQ(tokens(with_added("<x>", {{"rstrip", true}}), text).size(), 5u);
  EXPECT_EQ(tokens(with_added("<x>", {{"lstrip", true}, {"rstrip", true}}), text),
            (Texts{"a", "<x>", "b"}));
}

TEST(JsonTokenizer, FlagsOfTheSettingsReplaceThoseOfTheFile) {
  TokenizerConfig config;
  config.added_tokens = {{.token = {.content = "<x>", .strips_right = true}, .replaces = true}};
  const auto ids = [&] {
    return JsonTokenizer(with_added("<x>", Json::object()), "t", config).encode("a<x> b");
  };
  EXPECT_EQ(ids(), (Ids{'a', 260, 'b'}));
  config.added_tokens[0].replaces = false;
  EXPECT_EQ(ids(), (Ids{'a', 260, ' ', 'b'}));
}

TEST(JsonTokenizer, SingleWordsAreNotFoundInsideWords) {
  const Json json = with_added("zz", {{"single_word", true}});
  EXPECT_EQ(tokens(json, "zz-zz"), (Texts{"zz", "-", "zz"}));
  EXPECT_EQ(tokens(json, "azz"), (Texts{"a", "z", "z"}));
}

TEST(JsonTokenizer, NormalizedTokensAreFoundInNormalizedText) {
  Json json = with_added("ZZ", {{"normalized", true}});
  json["normalizer"] = {{"type", "Lowercase"}};
  EXPECT_EQ(tokens(json, "aZz"), (Texts{"a", "ZZ"}));
  json["added_tokens"][1]["normalized"] = false;
  EXPECT_EQ(tokens(json, "aZz"), (Texts{"a", "z", "z"}));
}

TEST(JsonTokenizer, OfTokensThatNormalizeToOneTextTheFirstSpecialOneIsFound) {
  Json json = with_added("ZZ", {{"normalized", true}, {"special", false}});
  json["normalizer"] = {{"type", "Lowercase"}};
  Json second = json["added_tokens"].back();
  second["content"] = "zz";
  second["id"] = second["id"].get<int>() + 1;
  json["added_tokens"].push_back(second);
  EXPECT_EQ(tokens(json, "zZ"), (Texts{"ZZ"}));
  json["added_tokens"].back()["special"] = true;
  EXPECT_EQ(tokens(json, "zZ"), (Texts{"zz"}));
}

TEST(JsonTokenizer, SkipSpecialLeavesOtherAddedTokens) {
  const JsonTokenizer tokenizer = make_tokenizer(with_added("<x>", Json::object()));
  const Ids ids = tokenizer.encode("a<x><|end|>b");
  EXPECT_EQ(tokenizer.decode(ids, {.skip_special = true}), "a<x>b");
  EXPECT_EQ(tokenizer.decode(ids, {.skip_special = false}), "a<x><|end|>b");
}

TEST(JsonTokenizer, IdsWithoutATokenDecodeToNothing) {
  const JsonTokenizer tokenizer = make_tokenizer(byte_level_json());
  EXPECT_EQ(tokenizer.decode(Ids{257, -1, 100000, 258}), "the the");
  EXPECT_EQ(tokenizer.vocab_size(), 260);
  EXPECT_EQ(tokenizer.token_text(-5), "");
}

TEST(JsonTokenizer, AddedIdsFollowTheVocabularyAndANoteSaysSo) {
  Json json = byte_level_json();
  json["added_tokens"][0]["id"] = 500;
  const JsonTokenizer tokenizer = make_tokenizer(json);
  EXPECT_EQ(tokenizer.token_id("<|end|>"), 259);
  ASSERT_EQ(tokenizer.notes().size(), 1u);
}

TEST(JsonTokenizer, TruncationAndPaddingAreNotAppliedAndANoteSaysSo) {
  Json json = byte_level_json();
  json["truncation"] = {{"max_length", 1}};
  const JsonTokenizer tokenizer = make_tokenizer(json);
  EXPECT_EQ(tokenizer.encode("abc").size(), 3u);
  ASSERT_EQ(tokenizer.notes().size(), 1u);
  EXPECT_NE(tokenizer.notes()[0].find("truncation"), std::string::npos);
}

TEST(JsonTokenizer, ConfigNamesBosAndEosAndAddsThemForLlama) {
  TokenizerConfig config;
  config.eos_token = "</s>";
  config.add_eos_token = true;
  config.add_bos_token = false;
  EXPECT_EQ(JsonTokenizer(llama_json(), "t", config).encode("a"), (Ids{1, 263}));
  config.tokenizer_class = "LlamaTokenizerFast";
  EXPECT_EQ(JsonTokenizer(llama_json(), "t", config).encode("a"), (Ids{263, 2}));
  EXPECT_EQ(JsonTokenizer(llama_json(), "t", config).bos_id(), 1);
}

// In transformers 4, classes such as LlamaTokenizerFast replace the file's post-processor.
TEST(JsonTokenizer, FlagsOfLlamaReplaceTheTokensAroundATextWhateverTheyAre) {
  TokenizerConfig config;
  config.tokenizer_class = "LlamaTokenizerFast";
  config.bos_token = "</s>";
  Json json = llama_json();
  const auto ids = [&] { return JsonTokenizer(json, "t", config).encode("a"); };
  EXPECT_EQ(ids(), (Ids{1, 263}));
  config.add_bos_token = true;
  EXPECT_EQ(ids(), (Ids{2, 263}));
  config.add_bos_token = false;
  EXPECT_EQ(ids(), (Ids{263}));
  json["post_processor"] = {{"type", "BertProcessing"}, {"sep", {"</s>", 2}}, {"cls", {"<s>", 1}}};
  config.bos_token = "<s>";
  config.add_bos_token = true;
  EXPECT_EQ(ids(), (Ids{1, 263}));
  config.add_bos_token.reset();
  config.add_eos_token = false;
  EXPECT_EQ(ids(), (Ids{1, 263}));
  config.add_eos_token = true;
  EXPECT_EQ(ids(), (Ids{1, 263, 2}));
  config.bos_token = "<bos>";  // which the file lacks
  config.add_bos_token = true;
  EXPECT_EQ(ids(), (Ids{1, 263, 2}));
}

TEST(JsonTokenizer, TheClassOfMptObeysTheFlagsToo) {
  TokenizerConfig config;
  config.add_bos_token = true;
  config.bos_token = "<|end|>";
  const auto ids = [&] { return JsonTokenizer(byte_level_json(), "t", config).encode("the"); };
  EXPECT_EQ(ids(), (Ids{257}));
  for (const char* name : {"GPTNeoXTokenizer", "GPTNeoXTokenizerFast"}) {
    config.tokenizer_class = name;
    EXPECT_EQ(ids(), (Ids{259, 257}));
  }
}

using JsonFolder = TokenizerFolder;

TEST_F(JsonFolder, TheClassOfBertTakesItsOptionsFromTheSettings) {
  Json json = bert_json();
  json["model"]["vocab"]["Un"] = 14;
  write("tokenizer.json", json.dump());
  EXPECT_EQ(encode("Un caf\u00e9"), (Ids{2, 4, 7, 8, 3}));
  write("tokenizer_config.json",
        R"({"do_lower_case": false})");  // other classes have no such option
  EXPECT_EQ(encode("Un"), (Ids{2, 4, 3}));
  write("tokenizer_config.json",
        R"({"tokenizer_class": "BertTokenizer", "do_lower_case": false, "strip_accents": true})");
  EXPECT_EQ(encode("Un caf\u00e9"), (Ids{2, 14, 7, 8, 3}));
  write("tokenizer_config.json",
        R"({"tokenizer_class": "BertTokenizerFast", "tokenize_chinese_chars": false})");
  EXPECT_EQ(encode("\u4e16\u754c Un"), (Ids{2, 1, 4, 3}));
  // As google-bert's folders: the model names the class.
  write("config.json", R"({"model_type": "bert"})");
  write("tokenizer_config.json", R"({"do_lower_case": false, "model_max_length": 512})");
  EXPECT_EQ(encode("Un"), (Ids{2, 14, 3}));
}

TEST_F(JsonFolder, ASettingOfNullNamesNoToken) {
  Json json = byte_level_json();
  json["added_tokens"].push_back(
      {{"id", 260}, {"content", "<|endoftext|>"}, {"special", true}, {"normalized", false}});
  write("tokenizer.json", json.dump());
  EXPECT_EQ(load_tokenizer(folder_)->bos_id(), 260);
  write("tokenizer_config.json", R"({"bos_token": null, "eos_token": "<|endoftext|>"})");
  EXPECT_EQ(load_tokenizer(folder_)->bos_id(), std::nullopt);
  EXPECT_EQ(load_tokenizer(folder_)->eos_id(), 260);
}

TEST_F(JsonFolder, TheClassOfRobertaTakesItsPrefixSpaceFromTheSettings) {
  write("tokenizer.json", byte_level_json().dump());
  for (const char* name : {"RobertaTokenizer", "GPT2TokenizerFast", "GPTNeoXTokenizer",
                           "DebertaTokenizer", "CodeGenTokenizerFast"}) {
    write("tokenizer_config.json",
          fmt::format(R"({{"tokenizer_class": "{}", "add_prefix_space": true}})", name));
    EXPECT_EQ(encode("the"), (Ids{258})) << name;
  }
  write("tokenizer_config.json", R"({"tokenizer_class": "X", "add_prefix_space": true})");
  EXPECT_EQ(encode("the"), (Ids{257}));
}

TEST_F(JsonFolder, SpecialTokensThatAreToBeCutAreRefused) {
  write("tokenizer.json", byte_level_json().dump());
  write("tokenizer_config.json", R"({"split_special_tokens": false})");
  EXPECT_EQ(encode("the"), (Ids{257}));
  write("tokenizer_config.json", R"({"split_special_tokens": true})");
  const std::string error = error_of([&] { (void)encode("the"); });
  EXPECT_NE(error.find("split_special_tokens"), std::string::npos) << error;
  EXPECT_NE(error.find("tokenizer_config.json"), std::string::npos) << error;
}

TEST(JsonTokenizer, RandomTextsComeBackWholeAndStreamed) {
  std::mt19937_64 random(3);
  const JsonTokenizer byte_level = make_tokenizer(byte_level_json());
  const JsonTokenizer llama = make_tokenizer(llama_json());
  for (int i = 0; i < 1000; ++i) {
    const std::string text = random_text(random, 20);
    EXPECT_EQ(decode_streaming(byte_level, byte_level.encode(text)), text);
    if (text.find("\u2581") != std::string::npos) continue;
    EXPECT_EQ(decode_streaming(llama, llama.encode(text)), text);
  }
}

TEST(JsonTokenizer, ThreadsShareOneTokenizer) {
  const JsonTokenizer tokenizer = make_tokenizer(byte_level_json());
  std::mt19937_64 random(4);
  std::vector<std::string> texts;
  std::vector<Ids> expected;
  for (int i = 0; i < 100; ++i) texts.push_back(random_text(random, 30));
  for (const auto& text : texts) expected.push_back(tokenizer.encode(text));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < texts.size(); ++i)
        wrong[t] += tokenizer.encode(texts[i]) != expected[i];
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(JsonTokenizer, InvalidUtf8IsAnErrorWithItsOffset) {
  const JsonTokenizer tokenizer = make_tokenizer(byte_level_json());
  EXPECT_NE(error_of([&] { (void)tokenizer.encode("ab\xff"); }).find("byte 2"), std::string::npos);
}

TEST(JsonTokenizer, ErrorsNameFileAndKey) {
  const auto message_with = [](const char* pointer, const Json& value) {
    Json json = llama_json();
    json[Json::json_pointer(pointer)] = value;
    return error_of([&] { make_tokenizer(json); });
  };
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find("test.json"), std::string::npos) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(message_with("/model/type", "Unigram"), "model.type");
  expect(message_with("/model/dropout", 0.1), "model.dropout");
  expect(message_with("/model/merges/0", "a"), "model.merges[0]");
  expect(message_with("/model/merges/0", "a zz"), "zz");
  expect(message_with("/model/vocab/zz", 1), "share the id");
  expect(message_with("/model/vocab", Json::object()), "is empty");
  expect(message_with("/model/vocab/zz", -1), "zz");
  expect(message_with("/model/vocab/zz", 1LL << 40), "zz");
  expect(message_with("/model/unk_token", "zz"), "model.unk_token");
  expect(message_with("/model/ignore_merge", true), "in \"model\", unknown key \"ignore_merge\"");
  expect(message_with("/post_processor/single/0", {{"SpecialToken", {{"id", "<q>"}}}}), "<q>");
  expect(message_with("/added_tokens/0/strip", true),
         "in \"added_tokens[0]\", unknown key \"strip\"");
  expect(message_with("/version", "2.0"), "version");
  expect(message_with("/extra", 1), "extra");
}

}  // namespace
}  // namespace reprise::tokenizer
