// Encoding a text and then another text behind it must give the tokens of both encoded as one text,
// for every kind of tokenizer and for awkward texts.
#include "core/tokenizer/shared_text.h"

#include "tests/core/tokenizer/tokenizer_testing.h"
#include "tests/support/fewer_under_asan.h"

namespace reprise::tokenizer {
namespace {

// Counts the bytes that are encoded.
class Counting : public Tokenizer {
 public:
  explicit Counting(const Tokenizer& inner) : inner_(inner) {}
  [[nodiscard]] std::vector<int32_t> encode(std::string_view text,
                                            EncodeOptions options) const override {
    bytes += static_cast<int64_t>(text.size());
    return inner_.encode(text, options);
  }
  [[nodiscard]] std::unique_ptr<StreamDecoder> stream(DecodeOptions options) const override {
    return inner_.stream(options);
  }
  [[nodiscard]] std::string token_text(int32_t id) const override { return inner_.token_text(id); }
  [[nodiscard]] std::optional<int32_t> token_id(std::string_view text) const override {
    return inner_.token_id(text);
  }
  [[nodiscard]] int32_t vocab_size() const override { return inner_.vocab_size(); }

  mutable int64_t bytes = 0;

 private:
  const Tokenizer& inner_;
};

// Worked examples and questions as MMLU has them.
std::string examples(std::mt19937_64& random, int count) {
  static const std::vector<std::string> kWords = {
      "the",   "module", "of", "a", "ring", "Z_12", "3.14159", "\u00e9tale", "field",  "x^2",
      "prime", "group",  "is", "1", "cell", "(b)",  "--",      "Answer",     "\u4e16", "isn't"};
  std::string text =
      "The following are multiple choice questions (with answers) about  algebra.\n\n";
  for (int i = 0; i < count; ++i) {
    for (int word = 0; word < 40; ++word) text += kWords[random() % kWords.size()] + " ";
    for (const char* letter : {"A", "B", "C", "D"})
      text += std::string("\n") + letter + ". " + kWords[random() % kWords.size()];
    text += "\nAnswer: B\n\n";
  }
  return text;
}

void expect_whole(const Tokenizer& tokenizer, const std::string& text, const std::string& behind,
                  EncodeOptions options) {
  const SharedText shared(tokenizer, text, options);
  EXPECT_EQ(shared.tokens(), tokenizer.encode(text, options)) << text;
  EXPECT_EQ(shared.encode(behind), tokenizer.encode(text + behind, options))
      << text << "|" << behind;
}

void expect_whole_for_any_text(const Tokenizer& tokenizer) {
  std::mt19937_64 random(1);
  for (int i = 0; i < reprise::testing::fewer_under_asan(120); ++i) {
    const EncodeOptions options{.add_special = i % 2 == 0};
    expect_whole(tokenizer, examples(random, 1 + i % 7), examples(random, 1).substr(i % 9),
                 options);
    // Lines of awkward characters, of which the last one may be cut anywhere.
    std::string text = "one line\n";
    while (text.size() < 200 + 40 * static_cast<size_t>(i)) {
      text += random_text(random, 12);
      if (random() % 3 == 0) text += '\n';
    }
    expect_whole(tokenizer, text, random_text(random, 12), options);
    expect_whole(tokenizer, text + std::string(i, ' '), std::string(i % 5, ' ') + "x", options);
    // Runs in which no word ends.
    expect_whole(tokenizer, "ab\n" + std::string(400, 'a') + "\n" + std::string(300 + i, 'b'),
                 std::string(i, 'b'), options);
    expect_whole(tokenizer, "1\n" + std::string(700, '7'), std::string(i, '7'), options);
    expect_whole(tokenizer, std::string(600, '\n'), std::string(i, '\n') + "x", options);
    expect_whole(tokenizer, text, "", options);
  }
}

TEST(SharedText, TokensAreThoseOfTheWholeText) {
  for (const Json& json : {llama_json(), byte_level_json(), bert_json()})
    expect_whole_for_any_text(make_tokenizer(json));
}

class SharedTextOfFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(SharedTextOfFiles, TokensAreThoseOfTheWholeText) {
  expect_whole_for_any_text(
      *load_tokenizer(std::filesystem::path(REPRISE_SOURCE_DIR) / GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Shipped, SharedTextOfFiles,
                         ::testing::Values("models/quickstart", "models/recall/llama",
                                           "models/recall/mpt", "models/recall/falcon"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

TEST(SharedText, TokensAreThoseOfTheWholeTextForRealTokenizers) {
  REPRISE_NEED_DATA();
  for (const char* name : {"llama2", "llama3", "tinyllama"})
    expect_whole_for_any_text(*load_tokenizer(data_folder() / "tokenizers" / name));
}

TEST(SharedText, TheBeginningIsEncodedOnce) {
  const auto tokenizer =
      load_tokenizer(std::filesystem::path(REPRISE_SOURCE_DIR) / "models/quickstart");
  const Counting counting(*tokenizer);
  std::mt19937_64 random(1);
  const std::string text = examples(random, 5);
  const SharedText shared(counting, text);
  const std::string question = "Which group is simple?";
  counting.bytes = 0;
  for (int i = 0; i < 100; ++i) (void)shared.encode(question);
  EXPECT_LT(counting.bytes, 100 * static_cast<int64_t>(question.size() + text.size() / 2));
}

TEST(SharedText, TextsThatAreNoUtf8AreRefused) {
  const JsonTokenizer tokenizer = make_tokenizer(byte_level_json());
  EXPECT_THROW(SharedText(tokenizer, "a\xff"), Error);
  const SharedText shared(tokenizer, std::string(900, 'a') + "\nb");
  EXPECT_THROW((void)shared.encode("\xff"), Error);
}

}  // namespace
}  // namespace reprise::tokenizer
