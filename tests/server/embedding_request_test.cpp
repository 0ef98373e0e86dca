#include "server/embedding_request.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "server/api_error.h"
#include "tests/server/embedding_testing.h"
#include "tests/support/json.h"

namespace reprise::server {
namespace {

class EmbeddingRequestTest : public ::testing::Test {
 protected:
  [[nodiscard]] EmbeddingRequest read(const std::string& body) const {
    return read_embedding(body, model_, *tiny_.embedder);
  }
  // Expects a refusal that begins with `beginning`, as "status param: message".
  void expect_refused(const std::string& body, const std::string& beginning) const {
    try {
      (void)read(body);
      FAIL() << "taken: " << body.substr(0, 200);
    } catch (const ApiError& error) {
      const Json json = Json::parse(error.json())["error"];
      const std::string param = json["param"].is_null() ? "-" : json["param"].get<std::string>();
      const std::string found = fmt::format("{} {}: {}", error.status(), param, error.what());
      EXPECT_TRUE(found.starts_with(beginning)) << body.substr(0, 200) << "\n  " << found;
    }
  }

  TinyEmbedder tiny_;
  std::vector<std::string> unknown_;
  ServedModel model_ = {
      .name = "tiny",
      .tokenizer = *tiny_.tokenizer,
      .vocab = 20,
      .max_sequence_tokens = 12,
      .on_unknown_field = [this](const std::string& name) { unknown_.push_back(name); }};
};

using Ids = std::vector<int32_t>;

std::vector<Ids> ids_of(const EmbeddingRequest& request) {
  std::vector<Ids> all;
  for (const sentence::TextTokens& text : request.texts) all.push_back(text.ids);
  return all;
}

TEST_F(EmbeddingRequestTest, InputsComeInFourForms) {
  const Ids a_b = {2, 4, 5, 3};  // between the special tokens
  EXPECT_EQ(ids_of(read(R"({"input": "a b"})")), std::vector<Ids>{a_b});
  EXPECT_EQ(ids_of(read(R"({"input": ["a b", " A b "]})")), (std::vector<Ids>{a_b, a_b}));
  // Ids are taken as they are.
  EXPECT_EQ(ids_of(read(R"({"input": [4, 19]})")), (std::vector<Ids>{{4, 19}}));
  EXPECT_EQ(ids_of(read(R"({"input": [[4], [5, 6]]})")), (std::vector<Ids>{{4}, {5, 6}}));
  EXPECT_EQ(read(R"({"input": ["a b", "a"]})").tokens(), 4 + 3);
}

TEST_F(EmbeddingRequestTest, FieldsAreRead) {
  EXPECT_FALSE(read(R"({"input": "a"})").is_base64);
  EXPECT_FALSE(read(R"({"input": "a", "encoding_format": "float", "model": "tiny",
                        "dimensions": 32, "user": "me"})")
                   .is_base64);
  EXPECT_TRUE(read(R"({"input": "a", "encoding_format": "base64"})").is_base64);
  EXPECT_TRUE(unknown_.empty());
  (void)read(R"({"input": "a", "colour": "red"})");
  EXPECT_EQ(unknown_, std::vector<std::string>{"colour"});
}

TEST_F(EmbeddingRequestTest, WhatIsWrongIsNamed) {
  for (const char* input : {"5", "{}", "true", "[]", "[\"a\", 1]", "[[4], \"a\"]", "[[4], 2]",
                            "[{}]", "[null]", "[[[4]]]", "[[\"a\"]]", "[[]]", "[4, 20]", "[-1]",
                            "[1.5]", "\"\"", "\" \"", "[\"a\", \"\"]"})
    expect_refused(fmt::format(R"({{"input": {}}})", input), "400 input: ");
  expect_refused("{}", "400 input: the request: key \"input\" is missing");
  expect_refused("[]", "400 -: the request must be a JSON object");
  expect_refused(R"({"input": "a", "model": "gpt-4"})", "404 model: ");
  for (const char* form : {"\"hex\"", "5", "\"\""})
    expect_refused(fmt::format(R"({{"input": "a", "encoding_format": {}}})", form),
                   "400 encoding_format: ");
  for (const char* dimensions : {"31", "0", "\"32\"", "1.5"})
    expect_refused(fmt::format(R"({{"input": "a", "dimensions": {}}})", dimensions),
                   "400 dimensions: ");
  for (const char* field :
       {R"("truncate_prompt_tokens": 5)", R"("add_special_tokens": false)", R"("normalize": false)",
        R"("messages": [{}])", R"("input_type": "query")"}) {
    const std::string name(field + 1, std::string_view(field).find('"', 1) - 1);
    expect_refused(fmt::format(R"({{"input": "a", {}}})", field), "400 " + name + ": ");
  }
}

// `reprise embed` cuts long texts, but a server refuses them.
TEST_F(EmbeddingRequestTest, LongInputsAreRefusedWithTheNumbers) {
  EXPECT_EQ(read(R"({"input": "a b c d e f g h a b"})").tokens(), 12);
  expect_refused(
      R"({"input": ["a", "a b c d e f g h a b c"]})",
      "400 input: a text has 13 tokens, this server takes 12 tokens (--max-tokens): shorten it");
  EXPECT_EQ(read(R"({"input": [4,4,4,4,4,4,4,4,4,4,4,4]})").tokens(), 12);
  expect_refused(
      R"({"input": [4,4,4,4,4,4,4,4,4,4,4,4,4]})",
      "400 input: an input has 13 tokens, this server takes 12 tokens (--max-tokens): shorten it");
  const size_t most = tiny_.embedder->most_text_bytes();
  const auto blanks_and_a = [](size_t bytes) {
    return fmt::format(R"({{"input": "{}a"}})", std::string(bytes - 1, ' '));
  };
  EXPECT_EQ(read(blanks_and_a(most)).tokens(), 3);
  expect_refused(
      blanks_and_a(most + 1),
      fmt::format("400 input: a text has {} bytes, of which at most {} are read", most + 1, most));
}

TEST_F(EmbeddingRequestTest, InputsAreCounted) {
  const auto inputs = [](size_t count) {
    const std::vector<std::string> all(count, "[4]");
    return fmt::format(R"({{"input": [{}]}})", fmt::join(all, ","));
  };
  EXPECT_EQ(read(inputs(2048)).texts.size(), 2048u);
  expect_refused(inputs(2049), "400 input: 2049 inputs, at most 2048 are taken at once");
}

}  // namespace
}  // namespace reprise::server
