// Compares the real tokenizers with stored ids of the original programs.
#include <fstream>
#include <sstream>

#include "tests/core/tokenizer/tokenizer_testing.h"
#include "tests/support/fewer_under_asan.h"
#include "tests/support/json.h"

namespace reprise::tokenizer {
namespace {

using reprise::testing::fewer_under_asan;

struct Case {
  std::string text;
  std::vector<int32_t> ids;
};

// Texts are separated by "\n__ggml_vocab_test__\n" and keep all their own line breaks. Line i of
// cases.out has the ids of text i; it is empty if the text is.
std::vector<Case> read_cases(const std::filesystem::path& folder) {
  const std::string inputs = read_file(folder / "cases.inp");
  std::istringstream outputs(read_file(folder / "cases.out"));
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::vector<Case> cases;
  for (size_t at = 0; at != std::string::npos;) {
    const size_t end = inputs.find(separator, at);
    Case one{inputs.substr(at, end == std::string::npos ? end : end - at), {}};
    at = end == std::string::npos ? end : end + separator.size();
    std::string line;
    std::getline(outputs, line);
    std::istringstream numbers(line);
    for (int32_t id = 0; numbers >> id;) one.ids.push_back(id);
    cases.push_back(std::move(one));
  }
  return cases;
}

struct Source {
  const char* cases;
  const char* tokenizer;
};
class Conformance : public ::testing::TestWithParam<Source> {};

TEST_P(Conformance, EncodesTheStoredCases) {
  REPRISE_NEED_DATA();
  const auto folder = data_folder() / "tokenizers";
  const auto tokenizer = load_tokenizer(folder / GetParam().tokenizer);
  const auto cases = read_cases(folder / GetParam().cases);
  ASSERT_EQ(cases.size(), 47u);
  for (const Case& one : cases)
    EXPECT_EQ(tokenizer->encode(one.text, {.add_special = false}), one.ids) << one.text;
}

TEST_P(Conformance, StreamsWhatItDecodes) {
  REPRISE_NEED_DATA();
  const auto tokenizer = load_tokenizer(data_folder() / "tokenizers" / GetParam().tokenizer);
  std::mt19937_64 random(1);
  for (int i = 0; i < fewer_under_asan(300); ++i) {
    std::vector<int32_t> ids = tokenizer->encode(random_text(random, 20));
    for (int32_t& id : ids)
      if (random() % 4 == 0)
        id = static_cast<int32_t>(random() % static_cast<uint64_t>(tokenizer->vocab_size()));
    const DecodeOptions options{.skip_special = random() % 2 == 0};
    EXPECT_EQ(decode_streaming(*tokenizer, ids, options), tokenizer->decode(ids, options));
  }
}

// Falcon's vocabulary lacks some control characters and the first bytes of characters from U+40000
// on. Byte-level BPE without an unknown token drops these.
bool has_tokens_of_bytes(const Tokenizer& tokenizer, const std::string& text) {
  for (const char c : text) {
    std::string token;
    append_byte_level(token, static_cast<unsigned char>(c));
    if (!tokenizer.token_id(token)) return false;
  }
  return true;
}

TEST_P(Conformance, DecodesWhatItEncoded) {
  REPRISE_NEED_DATA();
  const std::string name = GetParam().tokenizer;
  // BERT lowers case and drops characters; MPT composes accents; SentencePiece's nmt rules are
  // identity for Llama.
  if (name == "bert" || name == "mpt") GTEST_SKIP() << name << " changes the text by design";
  const auto tokenizer = load_tokenizer(data_folder() / "tokenizers" / name);
  std::mt19937_64 random(2);
  for (int i = 0; i < fewer_under_asan(1000); ++i) {
    const std::string text = random_text(random, 20);
    if (name == "falcon" && !has_tokens_of_bytes(*tokenizer, text)) continue;
    // U+2581 is how the Llama forms write a space.
    if (name != "llama3" && name != "falcon" && text.find("\u2581") != std::string::npos) continue;
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Real, Conformance,
                         ::testing::Values(Source{"llama2", "llama2/tokenizer.model"},
                                           Source{"llama2", "tinyllama/tokenizer.json"},
                                           Source{"llama3", "llama3"}, Source{"falcon", "falcon"},
                                           Source{"mpt", "mpt"}, Source{"bert", "bert"}),
                         [](const auto& test) {
                           return std::string(test.param.tokenizer)
                               .substr(0, std::string(test.param.tokenizer).find('/'));
                         });

TEST(Conformance, SmallModelsEncodeTheirGoldenCases) {
  REPRISE_NEED_DATA();
  for (const char* name : {"stories260K", "llama2xs"}) {
    const auto folder = data_folder() / "models" / name;
    const auto tokenizer = load_tokenizer(folder);
    const Json golden = read_json(folder / "golden.json");
    ASSERT_FALSE(golden["tokenizer_cases"].empty());
    for (const Json& one : golden["tokenizer_cases"])
      EXPECT_EQ(tokenizer->encode(one["text"].get<std::string>()),
                one["ids"].get<std::vector<int32_t>>())
          << one["text"];
    EXPECT_EQ(tokenizer->encode(golden["prompt"].get<std::string>()),
              golden["ids"].get<std::vector<int32_t>>());
    // The stored text is one token longer than the ids.
    const auto text = tokenizer->decode(golden["greedy_ids"].get<std::vector<int32_t>>());
    EXPECT_GT(text.size(), 400u);
    EXPECT_TRUE(golden["greedy_text"].get<std::string>().starts_with(text)) << text;
  }
}

TEST(Conformance, BosEosAndTemplatesComeFromTheFiles) {
  REPRISE_NEED_DATA();
  const auto folder = data_folder() / "tokenizers";
  const auto llama3 = load_tokenizer(folder / "llama3");
  EXPECT_EQ(llama3->bos_id(), 128000);
  EXPECT_EQ(llama3->eos_id(), llama3->token_id("<|eot_id|>"));
  EXPECT_EQ(llama3->encode("").size(), 1u);
  EXPECT_EQ(llama3->encode("<|begin_of_text|>", {.add_special = false}),
            std::vector<int32_t>{128000});
  EXPECT_EQ(llama3->vocab_size(), 128256);
  EXPECT_EQ(load_tokenizer(folder / "tinyllama")->encode("").front(), 1);
  EXPECT_EQ(load_tokenizer(folder / "falcon")->eos_id(), 11);
  EXPECT_EQ(load_tokenizer(folder / "bert")->encode(""), (std::vector<int32_t>{101, 102}));
}

TEST(Conformance, TiktokenRanksAreAnErrorThatNamesTheWayOut) {
  REPRISE_NEED_DATA();
  const auto path = data_folder() / "tokenizers/llama3/tokenizer.model";
  EXPECT_NE(error_of([&] { load_tokenizer(path); }).find("tokenizer.json"), std::string::npos);
}

// Llama-2's form makes one piece of a whole prompt; a quadratic merge would take minutes here.
TEST(Conformance, LongPromptsWithoutCutsFinish) {
  REPRISE_NEED_DATA();
  const auto tokenizer = load_tokenizer(data_folder() / "tokenizers/tinyllama");
  std::string text;
  while (std::ssize(text) < fewer_under_asan(1'000'000)) text += "the quick brown fox ";
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  const std::string run(fewer_under_asan(300'000), 'a');
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(run)), run);
}

}  // namespace
}  // namespace reprise::tokenizer
