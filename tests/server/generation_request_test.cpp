#include "server/generation_request.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <set>

#include "server/api_error.h"
#include "tests/support/json.h"

namespace reprise::server {
namespace {

class GenerationRequestTest : public ::testing::Test {
 protected:
  GenerationRequest completion(const std::string& body) { return read_completion(body, model_); }
  // The refusal of a body, as "status param: message".
  std::string refusal(const std::string& body, bool is_chat = false) {
    try {
      (void)(is_chat ? read_chat(body, model_) : read_completion(body, model_));
      return "";
    } catch (const ApiError& error) {
      const Json json = Json::parse(error.json())["error"];
      const std::string param = json["param"].is_null() ? "-" : json["param"].get<std::string>();
      return fmt::format("{} {}: {}", error.status(), param, error.what());
    }
  }
  void expect_refused(const std::string& body, const std::string& beginning, bool is_chat = false) {
    const std::string found = refusal(body, is_chat);
    EXPECT_TRUE(found.starts_with(beginning)) << body << "\n  " << found;
  }
  void expect_chat_refused(const std::string& body, const std::string& beginning) {
    expect_refused(body, beginning, true);
  }

  std::unique_ptr<Tokenizer> tokenizer_ = load_tokenizer(REPRISE_SOURCE_DIR "/models/quickstart");
  std::vector<std::string> unknown_;
  ServedModel model_ = {
      .name = "quickstart",
      .tokenizer = *tokenizer_,
      .chat = tokenizer::chat_template("llama-2"),
      .vocab = 2048,
      .max_sequence_tokens = 100,
      .longest_token_bytes = 20,
      .most_choices = 8,
      .on_unknown_field = [this](const std::string& name) { unknown_.push_back(name); }};
};

TEST_F(GenerationRequestTest, PromptsComeInFourForms) {
  const std::vector<int32_t> hello = tokenizer_->encode("Hello");
  using Prompts = std::vector<std::vector<int32_t>>;
  EXPECT_EQ(completion(R"({"prompt": "Hello"})").prompts, Prompts{hello});
  EXPECT_EQ(completion(R"({"prompt": ["Hello", "Hello"]})").prompts, (Prompts{hello, hello}));
  EXPECT_EQ(completion(R"({"prompt": [1, 5, 2047]})").prompts, (Prompts{{1, 5, 2047}}));
  EXPECT_EQ(completion(R"({"prompt": [[1, 5], [7]]})").prompts, (Prompts{{1, 5}, {7}}));
}

TEST_F(GenerationRequestTest, PromptsThatAreNoneAreRefused) {
  for (const char* prompt : {"5", "{}", "true", "[]", "[\"a\", 1]", "[[1], \"a\"]", "[[1], 2]",
                             "[{}]", "[null]", "[[[1]]]", "[[1], []]", "[[\"a\"]]"})
    expect_refused(fmt::format(R"({{"prompt": {}}})", prompt), "400 prompt: ");
  expect_refused("{}", "400 prompt: the request: key \"prompt\" is missing");
  expect_refused(R"({"prompt": [1, 2048]})",
                 "400 prompt: entry 2 of the prompt's tokens is 2048: give ids from 0 to 2047");
  for (const char* id : {"-1", "1.5", "9223372036854775807", "18446744073709551615", "1e3", "true"})
    expect_refused(fmt::format(R"({{"prompt": [1, {}]}})", id), "400 prompt: entry 2 of the");
  expect_refused(R"({"prompt": [[1],[1],[1],[1],[1],[1],[1],[1],[1]]})",
                 "400 prompt: 9 prompts: at most");
  const char* limit =
      "at most 8 choices are made at once, the lower of 128 and the server's --max-requests";
  EXPECT_EQ(refusal(R"({"prompt": [[1],[1],[1]], "n": 3})"),
            fmt::format("400 n: 3 prompts with n = 3 are 9 choices: {}", limit));
  EXPECT_EQ(refusal(R"({"prompt": "a", "n": 9})"), fmt::format("400 n: n is 9: {}", limit));
}

TEST_F(GenerationRequestTest, FieldsAreRead) {
  const GenerationRequest request = completion(R"({"model": "quickstart", "prompt": "a",
      "max_tokens": 7, "temperature": 0.5, "top_p": 0.25, "top_k": -1, "n": 2, "seed": -3,
      "stop": ["x", "yz"], "stream": true, "stream_options": {"include_usage": true},
      "logprobs": 3, "ignore_eos": true, "user": "me", "echo": false, "logit_bias": {},
      "presence_penalty": 0, "frequency_penalty": 0.0, "suffix": null, "tools": []})");
  EXPECT_EQ(request.max_tokens, 7);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_p, 0.25);
  EXPECT_EQ(request.sampling.top_k, 0);
  EXPECT_EQ(request.sampling.seed, static_cast<uint64_t>(-3));
  EXPECT_TRUE(request.has_seed);
  EXPECT_EQ(request.n, 2);
  EXPECT_EQ(request.stops, (std::vector<std::string>{"x", "yz"}));
  EXPECT_TRUE(request.is_stream && request.includes_usage && request.ignore_eos);
  EXPECT_EQ(request.alternatives, 3);
  EXPECT_TRUE(unknown_.empty());
  const GenerationRequest plain =
      completion(R"({"prompt": "a", "max_tokens": null, "stop": null})");
  EXPECT_EQ(plain.max_tokens, 16);
  EXPECT_EQ(plain.sampling.temperature, 1.0);
  EXPECT_EQ(plain.alternatives, -1);
  EXPECT_FALSE(plain.has_seed || plain.is_stream || plain.includes_usage || plain.ignore_eos);
}

TEST_F(GenerationRequestTest, ValuesThatMakeNoSenseAreRefusedByName) {
  const auto with = [&](const std::string& name, const std::string& value) {
    expect_refused(fmt::format(R"({{"prompt": "a", "{}": {}}})", name, value),
                   "400 " + name + ": ");
  };
  for (const char* value :
       {"0", "-1", "1.5", "\"8\"", "true", "[]", "1e10", "1e300", "99999999999999999999"})
    with("max_tokens", value);
  for (const char* value : {"-0.1", "101", "\"1\"", "true", "{}"}) with("temperature", value);
  for (const char* value : {"0", "-1", "1.1", "[]"}) with("top_p", value);
  for (const char* value : {"0", "9", "-1", "2.5", "\"2\""}) with("n", value);
  for (const char* value : {"1.5", "\"a\"", "18446744073709551615"}) with("seed", value);
  expect_refused(R"({"prompt": "a", "seed": 18446744073709551616})",
                 "400 seed: the request: key \"seed\" is too large: ");
  for (const char* value : {"\"\"", "5", "[5]", "[\"\"]", "[\"a\",\"b\",\"c\",\"d\",\"e\"]", "{}"})
    with("stop", value);
  for (const char* value : {"21", "-1", "true"}) with("logprobs", value);
  for (const char* name : {"stream", "ignore_eos", "echo"}) with(name, "1");
  with("stream_options", "[]");
  with("stream_options", "{\"include_usage\": 1}");
  with("model", "7");
  // A number that no double can hold makes the whole text invalid.
  expect_refused(R"({"prompt": "a", "temperature": 1e400})",
                 "400 -: the request is not valid JSON");
}

TEST_F(GenerationRequestTest, WhatIsNotSupportedIsRefusedWhereItAsksForSomething) {
  for (const char* field :
       {R"("best_of": 2)", R"("suffix": "x")", R"("tools": [{}])",
        R"("response_format": {"type": "json_object"})", R"("bad_words": ["x"])",
        R"("guided_json": "{}")", R"("structured_outputs": {"regex": "a"})", R"("guided_json": {})",
        R"("structured_outputs": {})", R"("json_schema": {})", R"("add_special_tokens": false)",
        R"("modalities": ["text", "audio"])", R"("prompt_logprobs": 0)",
        R"("logprob_token_ids": [5])", R"("return_tokens_as_token_ids": true)",
        R"("use_beam_search": true)", R"("skip_special_tokens": false)",
        R"("chat_template_kwargs": {"x": 1})", R"("grammar": "a")"}) {
    const std::string name(field + 1, std::string_view(field).find('"', 1) - 1);
    expect_refused(fmt::format(R"({{"prompt": "a", {}}})", field), "400 " + name + ": ");
  }
  EXPECT_EQ(refusal(R"({"prompt": "a", "response_format": {"type": "text"}, "best_of": 1,
                        "repetition_penalty": 1.0, "min_p": 0.0, "min_tokens": 0, "bad_words": [],
                        "allowed_token_ids": null, "skip_special_tokens": true, "grammar": "",
                        "length_penalty": 1, "chat_template_kwargs": {}, "modalities": ["text"],
                        "return_tokens_as_token_ids": false, "logprob_token_ids": null,
                        "add_special_tokens": true})"),
            "");
  // In a chat, special tokens would come on top of those that the template adds.
  const auto chat_with = [](const char* field) {
    return fmt::format(R"({{"messages": [{{"role": "user", "content": "a"}}], {}}})", field);
  };
  EXPECT_EQ(refusal(chat_with(R"("add_special_tokens": false, "modalities": ["text"])"), true), "");
  expect_chat_refused(chat_with(R"("add_special_tokens": true)"), "400 add_special_tokens: ");
  expect_chat_refused(chat_with(R"("best_of": 2)"), "400 best_of: ");
  EXPECT_EQ(refusal(chat_with(R"("n": 2, "best_of": 2)"), true), "");
  EXPECT_TRUE(unknown_.empty());
}

TEST_F(GenerationRequestTest, EchoKeepsTextsAsTheyWereGiven) {
  using Texts = std::map<size_t, std::string>;
  const GenerationRequest request = completion(R"({"prompt": ["Hello", "a  b"], "echo": true})");
  EXPECT_TRUE(request.echoes);
  EXPECT_EQ(request.texts, (Texts{{0, "Hello"}, {1, "a  b"}}));
  EXPECT_TRUE(completion(R"({"prompt": [1, 5], "echo": true})").texts.empty());
  const GenerationRequest plain = completion(R"({"prompt": "Hello"})");
  EXPECT_FALSE(plain.echoes);
  EXPECT_TRUE(plain.texts.empty());
  EXPECT_EQ(completion(R"({"prompt": "a", "echo": true, "max_tokens": 0})").max_tokens, 0);
  expect_refused(R"({"prompt": "a", "max_tokens": 0})", "400 max_tokens: ");
  expect_chat_refused(R"({"messages": [{"role": "user", "content": "a"}], "echo": true})",
                      "400 echo: echo is not supported in chats: leave it out");
}

TEST_F(GenerationRequestTest, RulesForTokensAreReadAndCheckedByName) {
  const GenerationRequest request = completion(
      R"({"prompt": "a", "min_p": 0.25, "min_tokens": 3, "presence_penalty": 0.5,
          "frequency_penalty": -1, "repetition_penalty": 1.5, "return_token_ids": true,
          "logit_bias": {"5": -100, "2047": 1.5}, "allowed_token_ids": [9, 5, 9]})");
  EXPECT_EQ(request.sampling.min_p, 0.25);
  EXPECT_EQ(request.rules.min_tokens, 3);
  EXPECT_EQ(request.rules.presence_penalty, 0.5);
  EXPECT_EQ(request.rules.frequency_penalty, -1);
  EXPECT_EQ(request.rules.repetition_penalty, 1.5);
  EXPECT_EQ(std::set(request.rules.bias.begin(), request.rules.bias.end()),
            (std::set<std::pair<int32_t, float>>{{5, -100.0f}, {2047, 1.5f}}));
  EXPECT_EQ(request.rules.allowed, (std::vector<int32_t>{5, 9}));
  EXPECT_TRUE(request.returns_token_ids);
  EXPECT_TRUE(completion(R"({"prompt": "a"})").rules.empty());

  const auto with = [&](const std::string& name, const std::string& value) {
    expect_refused(fmt::format(R"({{"prompt": "a", "{}": {}}})", name, value),
                   "400 " + name + ": ");
  };
  for (const char* value : {"-0.1", "1.1", "\"x\""}) with("min_p", value);
  for (const char* value : {"-1", "1.5", "17"}) with("min_tokens", value);  // max_tokens is 16
  for (const char* value : {"-2.1", "3", "[]"}) {
    with("presence_penalty", value);
    with("frequency_penalty", value);
  }
  for (const char* value : {"0", "-1", "1000"}) with("repetition_penalty", value);
  for (const char* value :
       {"5", "[5]", R"({"a": 1})", R"({"-1": 1})", R"({"2048": 1})", R"({"": 1})", R"({"5": 101})",
        R"({"5": "1"})", R"({"99999999999": 1})", R"({"+5": 1})"})
    with("logit_bias", value);
  for (const char* value : {"5", "[]", "[2048]", "[-1]", "[\"a\"]"})
    with("allowed_token_ids", value);
}

TEST_F(GenerationRequestTest, WhatIsUnknownIsPassedOverAndTold) {
  (void)completion(R"({"prompt": "a", "colour": "red", "shape": 0})");
  EXPECT_EQ(unknown_, (std::vector<std::string>{"colour", "shape"}));
  unknown_.clear();
  (void)read_chat(
      R"({"messages": [{"role": "user", "name": "Ann",
                        "content": [{"type": "text", "text": "a", "cache_control": {}}]},
                       {"role": "assistant", "content": "b", "refusal": null, "tool_calls": []},
                       {"role": "user", "content": "c"}],
          "stream": true, "stream_options": {"continuous_usage_stats": true}})",
      model_);
  EXPECT_EQ(unknown_,
            (std::vector<std::string>{"stream_options.continuous_usage_stats", "messages.name",
                                      "messages.content.cache_control"}));
}

TEST_F(GenerationRequestTest, BodiesThatAreNoObjectsAreRefused) {
  for (const char* body : {"", " ", "{", "[]", "5", "null", "{\"prompt\": \"a\",}", "{} {}",
                           "{\"prompt\": \"\xff\"}", "{\"prompt\": \"\\ud800\"}", "nan"})
    expect_refused(body, "400 -: the request ");
  expect_refused(std::string("{\"prompt\": \"a\"}\0", 16), "400 -: the request ");
  expect_refused(R"({"prompt": "a", "prompt": "b"})",
                 R"(400 -: the request: key "prompt" appears twice in one object)");
  expect_refused(R"({"a\u0000b": 1, "a\u0000b": 2})",
                 R"(400 -: the request: key "a\u0000b" appears twice in one object)");
  std::string deep = "{\"prompt\": ";
  for (int i = 0; i < 100'000; ++i) deep += "[";
  expect_refused(deep, "400 -: the request: JSON is nested deeper");
}

TEST_F(GenerationRequestTest, StopTokensAreIdsOfTheVocabulary) {
  EXPECT_EQ(completion(R"({"prompt": "a", "stop_token_ids": [7, 2047]})").stop_ids,
            (std::vector<int32_t>{7, 2047}));
  EXPECT_TRUE(completion(R"({"prompt": "a", "stop_token_ids": []})").stop_ids.empty());
  for (const char* ids : {"5", "[2048]", "[-1]", "[1.5]", "[\"a\"]", "{}"})
    expect_refused(fmt::format(R"({{"prompt": "a", "stop_token_ids": {}}})", ids),
                   "400 stop_token_ids: ");
}

// Tokenizing takes much time and memory, so text that cannot fit is refused before it is tokenized.
TEST_F(GenerationRequestTest, TextsThatNoTokensCanHoldAreRefusedByTheirBytes) {
  const std::string longest(2000, ' ');  // 100 tokens of 20 bytes
  EXPECT_FALSE(refusal(fmt::format(R"({{"prompt": "{}"}})", longest)).find("the text has") !=
               std::string::npos);
  EXPECT_EQ(refusal(fmt::format(R"({{"prompt": "{} "}})", longest)),
            "400 prompt: the text has 2001 bytes; 100 tokens, the most that the server takes, have "
            "2000 bytes at most: shorten the prompt");
  expect_chat_refused(
      fmt::format(R"({{"messages": [{{"role": "user", "content": "{} "}}]}})", longest),
      "400 messages: the text has 2001 bytes");
}

TEST_F(GenerationRequestTest, LengthsAreToldWithTheNumbers) {
  EXPECT_EQ(completion(R"({"prompt": [5, 5], "max_tokens": 98})").max_tokens, 98);
  EXPECT_EQ(refusal(R"({"prompt": [5, 5], "max_tokens": 99})"),
            "400 prompt: the request asks for 101 tokens (2 in the prompt, 99 for the answer), the "
            "server takes at most 100: shorten the prompt, or ask for fewer tokens");
  expect_refused(R"({"prompt": "a", "model": "gpt-4"})", "404 model: the model \"gpt-4\"");
}

TEST_F(GenerationRequestTest, LogprobsOfAWholeAnswerAreBounded) {
  model_.max_sequence_tokens = 5000;
  model_.most_choices = 128;
  const auto body = [](int n, int tokens, int alternatives, const std::string& more = "") {
    return fmt::format(R"({{"prompt": [5], "n": {}, "max_tokens": {}, "logprobs": {}{}}})", n,
                       tokens, alternatives, more);
  };
  EXPECT_EQ(refusal(body(1, 4096, 20)), "");
  EXPECT_EQ(refusal(body(32, 4096, 0)), "");
  EXPECT_EQ(refusal(body(33, 4096, 0)),
            "400 logprobs: the answer would hold up to 135168 log probabilities (33 choices x 4096 "
            "tokens x 1), at most 131072 are put together: ask for fewer, or for a stream");
  expect_refused(body(128, 4000, 20), "400 logprobs: ");
  EXPECT_EQ(refusal(body(128, 4000, 20, R"(, "stream": true)")), "");
  EXPECT_EQ(refusal(R"({"prompt": [5], "n": 128, "max_tokens": 4000})"), "");
  EXPECT_EQ(refusal(R"({"prompt": [5, 5, 5], "n": 128, "max_tokens": 1021, "logprobs": 0,
                        "echo": true})"),
            "");
  const std::string ids = fmt::format("{}", fmt::join(std::vector(1100, 5), ","));
  const auto echo_of_many = [&](const char* more) {
    return fmt::format(R"({{"prompt": [{}], "n": 128, "logprobs": 0, "echo": true{}}})", ids, more);
  };
  // The prompts alone are too much, also for a stream.
  EXPECT_EQ(
      refusal(echo_of_many(R"(, "max_tokens": 0)")),
      "400 logprobs: the answer would hold up to 140800 log probabilities (128 choices x 1100 "
      "tokens x 1), at most 131072 are put together: ask for fewer");
  expect_refused(echo_of_many(R"(, "stream": true)"), "400 logprobs: the answer would hold up to ");
  expect_chat_refused(R"({"messages": [{"role": "user", "content": "a"}], "n": 3, "logprobs": true,
                          "max_tokens": 4000, "top_logprobs": 20})",
                      "400 top_logprobs: the answer would hold up to 252000 ");
}

TEST_F(GenerationRequestTest, OptionsOfAStreamNeedAStream) {
  for (const char* more : {"", R"(, "stream": false)"})
    EXPECT_EQ(
        refusal(fmt::format(R"({{"prompt": "a", "stream_options": {{"include_usage": true}}{}}})",
                            more)),
        "400 stream_options: stream_options needs stream to be true: leave it out, or ask for a "
        "stream");
  EXPECT_EQ(refusal(R"({"prompt": "a", "stream_options": null})"), "");
}

TEST_F(GenerationRequestTest, ChatsAreWrittenByTheTemplate) {
  const GenerationRequest request = read_chat(
      R"({"messages": [{"role": "system", "content": "S"},
                       {"role": "user", "content": [{"type": "text", "text": "a"},
                                                    {"type": "text", "text": "b"}]}],
          "max_completion_tokens": 9, "logprobs": true, "top_logprobs": 2})",
      model_);
  const std::vector<tokenizer::ChatMessage> messages = {{"system", "S"}, {"user", "ab"}};
  const std::vector<int32_t> prompt = tokenizer::encode_chat(
      tokenizer::write_chat(tokenizer::chat_template("llama-2"), messages), *tokenizer_);
  EXPECT_EQ(request.prompts, (std::vector<std::vector<int32_t>>{prompt}));
  EXPECT_EQ(request.max_tokens, 9);
  EXPECT_EQ(request.alternatives, 2);
  const GenerationRequest open =
      read_chat(R"({"messages": [{"role": "user", "content": "a"}], "logprobs": false})", model_);
  EXPECT_EQ(open.max_tokens, 100 - std::ssize(open.prompts[0]));  // the rest of the model's length
  EXPECT_EQ(open.alternatives, -1);
}

TEST_F(GenerationRequestTest, ChatsThatAreNoneAreRefused) {
  for (const char* messages :
       {"[]", "{}", "5", "[5]", "[{}]", "[{\"role\": \"user\"}]", "[{\"content\": \"a\"}]",
        "[{\"role\": 5, \"content\": \"a\"}]", "[{\"role\": \"user\", \"content\": 5}]",
        "[{\"role\": \"user\", \"content\": [5]}]",
        "[{\"role\": \"user\", \"content\": [{\"type\": \"image_url\", \"text\": \"a\"}]}]",
        "[{\"role\": \"user\", \"content\": [{\"type\": \"text\"}]}]",
        "[{\"role\": \"tool\", \"content\": \"a\"}]",
        "[{\"role\": \"assistant\", \"content\": \"a\"}]"})
    expect_chat_refused(fmt::format(R"({{"messages": {}}})", messages), "400 messages: ");
  for (const char* call : {R"("tool_calls": [{"id": "x"}])", R"("function_call": {"name": "f"})"})
    expect_chat_refused(fmt::format(R"({{"messages": [{{"role": "user", "content": "a"}},
                                      {{"role": "assistant", "content": null, {}}}]}})",
                                    call),
                        fmt::format("400 {0}: {0} is not supported",
                                    call[1] == 't' ? "tool_calls" : "function_call"));
  expect_chat_refused("{}", "400 messages: the request: key \"messages\" is missing");
  expect_chat_refused(R"({"messages": [{"role": "user", "content": "a"}], "top_logprobs": 2})",
                      "400 top_logprobs: ");
  model_.chat.reset();
  model_.no_chat = "no template; start the server with --chat-template FAMILY";
  expect_chat_refused(R"({"messages": [{"role": "user", "content": "a"}]})",
                      "400 -: no template; start the server with --chat-template FAMILY");
}

}  // namespace
}  // namespace reprise::server
