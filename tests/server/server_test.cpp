// Tests the API over a real socket, with the shipped model.
#include "server/server.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "core/tokenizer/utf8.h"
#include "server/token_texts.h"
#include "tests/server/served_quickstart.h"
#include "tests/support/json.h"

namespace reprise::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Json user_says(const std::string& text) {
  return Json::array({Json{{"role", "user"}, {"content", text}}});
}

TEST_F(ServerTest, CompletesAsTheEngineDoes) {
  const RawAnswer answer = server_.complete(greedy(kPrompt, 24));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json json = answer.json();
  EXPECT_EQ(json["object"], "text_completion");
  EXPECT_EQ(json["model"], "quickstart");
  ASSERT_EQ(json["choices"].size(), 1u);
  EXPECT_EQ(json["choices"][0]["text"], wanted(kPrompt, 24));
  EXPECT_EQ(json["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(json["choices"][0]["logprobs"], nullptr);
  const auto prompt_tokens = std::ssize(server_.tokenizer().encode(kPrompt));
  EXPECT_EQ(json["usage"]["prompt_tokens"], prompt_tokens);
  EXPECT_EQ(json["usage"]["completion_tokens"], 24);
  EXPECT_EQ(json["usage"]["total_tokens"], prompt_tokens + 24);
  EXPECT_EQ(json["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
}

TEST_F(ServerTest, EndsAtAStopTokenAlsoWithoutEndTokens) {
  Json body = greedy(kPrompt, 24);
  body["logprobs"] = 0;
  const Json tokens = server_.complete(body).json()["choices"][0]["logprobs"]["tokens"];
  const auto fifth = tokens[4].get<std::string>();
  const auto first = std::find(tokens.begin(), tokens.end(), Json(fifth)) - tokens.begin();
  body["stop_token_ids"] = Json::array();
  for (int32_t id = 0; id < server_.tokenizer().vocab_size(); ++id) {
    const std::vector<int32_t> one = {id};
    if (server_.tokenizer().decode(one) == fifth || server_.tokenizer().token_text(id) == fifth)
      body["stop_token_ids"].push_back(id);
  }
  const Json json = server_.complete(body).json();
  EXPECT_EQ(json["choices"][0]["finish_reason"], "stop") << json;
  EXPECT_EQ(json["usage"]["completion_tokens"], first + 1);
}

// The token ids of an answer and of its prompt, whole or streamed, must be those of the tokenizer
// and the engine.
TEST_F(ServerTest, ReturnsTokenIdsWhereAskedFor) {
  Json body = greedy(kPrompt, 12);
  EXPECT_FALSE(server_.complete(body).json()["choices"][0].contains("token_ids"));
  body["return_token_ids"] = true;
  const std::vector<int32_t> prompt = server_.tokenizer().encode(kPrompt);
  const std::vector<int32_t> want =
      testing::generate(server_.decoder(), prompt, 12, "contiguous", 512, Context::machine());
  const Json whole = server_.complete(body).json()["choices"][0];
  EXPECT_EQ(whole["token_ids"].get<std::vector<int32_t>>(), want);
  EXPECT_EQ(whole["prompt_token_ids"].get<std::vector<int32_t>>(), prompt);
  body["stream"] = true;
  std::vector<int32_t> ids, told;
  for (const Json& event : streamed(server_.complete(body), 1).events) {
    const Json& choice = event["choices"][0];
    for (const Json& id : choice["token_ids"]) ids.push_back(id);
    if (choice.contains("prompt_token_ids"))
      for (const Json& id : choice["prompt_token_ids"]) told.push_back(id);
  }
  EXPECT_EQ(ids, want);
  EXPECT_EQ(told, prompt);
}

// As in vLLM, the prompt's ids of a chat stand beside its choices, and in a stream's first event.
TEST_F(ServerTest, ChatsReturnTokenIdsWhereClientsOfVllmLookForThem) {
  Json body = {{"messages", user_says("Hello")},
               {"max_tokens", 5},
               {"temperature", 0},
               {"ignore_eos", true}};
  EXPECT_FALSE(server_.chat(body).json().contains("prompt_token_ids"));
  const Json prompt =
      post(server_.port(), "/tokenize", {{"messages", user_says("Hello")}}).json()["tokens"];
  body["return_token_ids"] = true;
  const Json whole = server_.chat(body).json();
  EXPECT_EQ(whole.at("prompt_token_ids"), prompt);
  EXPECT_EQ(whole["choices"][0]["token_ids"].size(), 5u);
  EXPECT_FALSE(whole["choices"][0].contains("prompt_token_ids"));
  body["stream"] = true;
  const Streamed found = streamed(server_.chat(body), 1);
  EXPECT_EQ(found.events[0].at("prompt_token_ids"), prompt);
  Json ids = Json::array();
  for (const Json& event : found.events) {
    EXPECT_EQ(event.contains("prompt_token_ids"), &event == &found.events[0]);
    EXPECT_FALSE(event["choices"][0].contains("prompt_token_ids"));
    for (const Json& id : event["choices"][0].value("token_ids", Json::array())) ids.push_back(id);
  }
  EXPECT_EQ(ids, whole["choices"][0]["token_ids"]);
}

TEST_F(ServerTest, RulesForTokensChangeTheAnswer) {
  Json body = greedy(kPrompt, 12);
  body["return_token_ids"] = true;
  const auto ids = [&] {
    const RawAnswer answer = server_.complete(body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json()["choices"][0]["token_ids"].get<std::vector<int32_t>>();
  };
  const std::vector<int32_t> plain = ids();
  body["logit_bias"] = {{std::to_string(plain[0]), -100}};
  EXPECT_NE(ids()[0], plain[0]);
  body.erase("logit_bias");
  body["allowed_token_ids"] = {5, 6};
  for (const int32_t id : ids()) EXPECT_TRUE(id == 5 || id == 6) << id;
  // Only two tokens are allowed, and the penalties for repeating a token exceed any difference of
  // the logits.
  body["frequency_penalty"] = 2;
  body["repetition_penalty"] = 100;
  const std::vector<int32_t> alternating = ids();
  EXPECT_NE(alternating[0], alternating[1]);
  body.erase("allowed_token_ids");
  body.erase("frequency_penalty");
  body.erase("repetition_penalty");
  body["stop_token_ids"] = {plain[2]};
  const auto first = std::find(plain.begin(), plain.end(), plain[2]) - plain.begin();
  EXPECT_EQ(std::ssize(ids()), first + 1);
  body["min_tokens"] = 8;
  EXPECT_GE(ids().size(), 8u);
  body["allowed_token_ids"] = {plain[2]};
  EXPECT_EQ(server_.complete(body).status, 400);
}

TEST_F(ServerTest, MinTokensWithholdTheEndTokenAlsoIfItEndsNothing) {
  const int32_t eos = server_.tokenizer().eos_id().value();
  Json body = greedy(kPrompt, 8);
  ASSERT_TRUE(body["ignore_eos"]);
  body["return_token_ids"] = true;
  body["logit_bias"] = {{std::to_string(eos), 100}};
  body["min_tokens"] = 5;
  const auto ids =
      server_.complete(body).json()["choices"][0]["token_ids"].get<std::vector<int32_t>>();
  ASSERT_EQ(ids.size(), 8u);
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i] == eos, i >= 5) << i;
}

// As in vLLM, a stop text counts only if it ends after the first min_tokens tokens.
TEST_F(ServerTest, MinTokensHoldBackStopTexts) {
  Json body = greedy(kPrompt, 12);
  body["logprobs"] = 0;
  // Forbids the token that ends a text. Otherwise min_tokens would change the tokens too.
  body["logit_bias"] = {{std::to_string(server_.tokenizer().eos_id().value()), -100}};
  const Json plain = server_.complete(body).json()["choices"][0];
  const std::string whole = plain["text"];
  ASSERT_EQ(tokenizer::utf8_length(whole), whole.size());
  for (size_t begin = 0; begin + 3 <= whole.size(); begin += 4)
    for (const size_t least : {1u, 5u, 11u, 12u}) {
      const std::string stop = whole.substr(begin, 3);
      body["stop"] = stop;
      body["min_tokens"] = least;
      const size_t held =
          least < 12 ? plain["logprobs"]["text_offset"][least].get<size_t>() : whole.size();
      const size_t found = whole.find(stop, held - std::min(held, stop.size() - 1));
      const Json choice = server_.complete(body).json()["choices"][0];
      EXPECT_EQ(choice["text"], whole.substr(0, found)) << stop << " after " << least;
      EXPECT_EQ(choice["finish_reason"], found == whole.npos ? "length" : "stop");
    }
}

TEST_F(ServerTest, TokenizesAndBack) {
  const std::vector<int32_t> ids = server_.tokenizer().encode(kPrompt);
  const RawAnswer answer = post(server_.port(), "/tokenize", {{"prompt", kPrompt}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["tokens"].get<std::vector<int32_t>>(), ids);
  EXPECT_EQ(answer.json()["count"], ids.size());
  EXPECT_GT(answer.json()["max_model_len"], 0);
  const Json plain =
      post(server_.port(), "/tokenize", {{"prompt", kPrompt}, {"add_special_tokens", false}})
          .json();
  EXPECT_EQ(plain["tokens"].get<std::vector<int32_t>>(),
            server_.tokenizer().encode(kPrompt, {.add_special = false}));
  EXPECT_EQ(post(server_.port(), "/detokenize", plain).json()["prompt"], kPrompt);
  const Json chat = post(server_.port(), "/tokenize", {{"messages", user_says("a")}}).json();
  EXPECT_GT(chat["count"], 1);
  const Json neutral = {{"messages", user_says("a")},      {"add_special_tokens", false},
                        {"return_token_strs", false},      {"add_generation_prompt", true},
                        {"continue_final_message", false}, {"tools", Json::array()},
                        {"chat_template", nullptr}};
  EXPECT_EQ(post(server_.port(), "/tokenize", neutral).json()["tokens"], chat["tokens"]);
  const Json unsupported = {{"add_special_tokens", true},
                            {"return_token_strs", true},
                            {"add_generation_prompt", false},
                            {"continue_final_message", true},
                            {"tools", Json::array({Json::object()})},
                            {"chat_template", "{{ messages }}"},
                            {"chat_template_kwargs", {{"a", 1}}}};
  for (const auto& [name, value] : unsupported.items()) {
    const RawAnswer refused =
        post(server_.port(), "/tokenize", {{"messages", user_says("a")}, {name, value}});
    EXPECT_EQ(refused.status, 400) << name;
    EXPECT_EQ(refused.json()["error"]["param"], name);
  }
  for (const Json& wrong : {Json::object(), Json{{"prompt", 5}}, Json{{"tokens", {-1}}},
                            Json{{"prompt", "a"}, {"model", "another"}}}) {
    EXPECT_GE(post(server_.port(), "/tokenize", wrong).status, 400) << wrong;
    EXPECT_GE(post(server_.port(), "/detokenize", wrong).status, 400) << wrong;
  }
}

TEST_F(ServerTest, StreamsTheSameText) {
  Json body = greedy(kPrompt, 24);
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  const RawAnswer answer = server_.complete(body);
  EXPECT_NE(answer.head.find("text/event-stream"), std::string::npos) << answer.head;
  const Streamed found = streamed(answer, 1);
  EXPECT_TRUE(found.is_done);
  EXPECT_EQ(found.texts[0], wanted(kPrompt, 24));
  EXPECT_EQ(found.reasons[0], "length");
  ASSERT_EQ(found.events.size(), 25u);  // one event per token, and one with the usage
  EXPECT_EQ(found.events[3]["usage"], nullptr);
  EXPECT_EQ(found.events.back()["choices"].size(), 0u);
  EXPECT_EQ(found.events.back()["usage"]["completion_tokens"], 24);
}

TEST_F(ServerTest, ChatsStreamTheSameTextAsWhole) {
  Json body = {{"messages", user_says("Hello")},
               {"max_tokens", 20},
               {"temperature", 0},
               {"ignore_eos", true}};
  const RawAnswer whole = server_.chat(body);
  ASSERT_EQ(whole.status, 200) << whole.body;
  EXPECT_EQ(whole.json()["object"], "chat.completion");
  EXPECT_EQ(whole.json()["choices"][0]["message"]["role"], "assistant");
  body["stream"] = true;
  const Streamed found = streamed(server_.chat(body), 1);
  EXPECT_EQ(found.events[0]["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(found.events[0]["object"], "chat.completion.chunk");
  EXPECT_EQ(Json(found.texts[0]), whole.json()["choices"][0]["message"]["content"]);
  EXPECT_TRUE(found.is_done);
}

TEST_F(ServerTest, PromptsAndChoicesAreNumbered) {
  const std::vector<int32_t> ids = server_.tokenizer().encode(kPrompt);
  const RawAnswer answer = server_.complete(
      {{"prompt", {ids, {1, 5, 9}}}, {"n", 2}, {"max_tokens", 6}, {"temperature", 0}});
  const Json choices = answer.json()["choices"];
  ASSERT_EQ(choices.size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(choices[i]["index"], i);
  EXPECT_EQ(choices[0]["text"], choices[1]["text"]);
  EXPECT_EQ(choices[2]["text"], choices[3]["text"]);
  EXPECT_EQ(choices[0]["text"],
            server_.complete({{"prompt", kPrompt}, {"max_tokens", 6}, {"temperature", 0}})
                .json()["choices"][0]["text"]);
  EXPECT_EQ(answer.json()["usage"]["prompt_tokens"], std::ssize(ids) + 3);
}

TEST_F(ServerTest, ASeedMakesAnswersThatRepeat) {
  const auto texts = [&](const Json& seed) {
    const Json json = server_
                          .complete({{"prompt", kPrompt},
                                     {"n", 3},
                                     {"max_tokens", 24},
                                     {"temperature", 1.5},
                                     {"ignore_eos", true},
                                     {"seed", seed}})
                          .json();
    std::vector<std::string> out;
    for (const Json& choice : json["choices"]) out.push_back(choice["text"]);
    return out;
  };
  const std::vector<std::string> first = texts(7);
  EXPECT_EQ(texts(7), first);
  EXPECT_NE(texts(8), first);
  EXPECT_NE(first[0], first[1]);  // choices differ
  EXPECT_NE(texts(nullptr), texts(nullptr));
}

TEST_F(ServerTest, StopsAreCutOutHoweverTheyFall) {
  const std::string whole = wanted(kPrompt, 40);
  for (size_t begin = 0; begin + 4 < whole.size(); begin += 3) {
    const std::string stop = whole.substr(begin, 4);
    Json body = greedy(kPrompt, 40);
    body["stop"] = {"never there", stop};
    const std::string cut = whole.substr(0, whole.find(stop));
    const Json json = server_.complete(body).json();
    EXPECT_EQ(json["choices"][0]["text"], cut);
    EXPECT_EQ(json["choices"][0]["finish_reason"], "stop");
    EXPECT_LE(json["usage"]["completion_tokens"], 40);
    body["stream"] = true;
    const Streamed found = streamed(server_.complete(body), 1);
    EXPECT_EQ(found.texts[0], cut);
    EXPECT_EQ(found.reasons[0], "stop");
    EXPECT_TRUE(found.is_done);
  }
}

// The vocabulary has single bytes, which are drawn at random. Events must hold whole characters,
// and their texts joined must be the whole text.
TEST_F(ServerTest, CharactersAreNeverCut) {
  for (int seed = 0; seed < 5; ++seed) {
    Json body = {{"prompt", "é拳🥊"},
                 {"max_tokens", 200},
                 {"temperature", 100},
                 {"seed", seed},
                 {"ignore_eos", true}};
    const std::string whole = server_.complete(body).json()["choices"][0]["text"];
    body["stream"] = true;
    EXPECT_EQ(streamed(server_.complete(body), 1).texts[0], whole);
  }
}

TEST_F(ServerTest, TellsHowManyTokensWereCached) {
  std::string prefix;
  for (int i = 0; i < 8; ++i)
    prefix += fmt::format("The code of the blue door is {}. You are careful.\n", 100 + i);
  const auto cached = [&](const std::string& prompt) {
    return server_.complete(greedy(prompt, 4))
        .json()["usage"]["prompt_tokens_details"]["cached_tokens"]
        .get<int64_t>();
  };
  // Another request with the same beginning runs, so that its keys are in the cache.
  RawClient other(server_.port());
  Json body = greedy(prefix + "one", 300);
  body["stream"] = true;
  other.send(post_text("/v1/completions", body.dump()));
  (void)other.receive();
  const auto shared = std::ssize(server_.tokenizer().encode(prefix)) - 1;
  const int64_t found = cached(prefix + "two");
  EXPECT_GT(found, shared / 2);
  EXPECT_LE(found, shared + 1);
}

// The text drops the space before its first word; the list of tokens keeps it.
TEST_F(ServerTest, OffsetsAreThoseOfTheTextAlsoIfItsFirstSpaceIsDropped) {
  Json body = greedy("", 5);
  body["prompt"] = {server_.tokenizer().bos_id().value()};
  body["logprobs"] = 0;
  const Json choice = server_.complete(body).json()["choices"][0];
  const Json& list = choice["logprobs"];
  const std::string text = choice["text"], first = list["tokens"][0];
  EXPECT_EQ(first.front(), ' ');
  EXPECT_NE(text.front(), ' ');
  EXPECT_EQ(list["text_offset"][0], 0);
  for (size_t i = 1; i < 5; ++i) {
    const std::string token = list["tokens"][i];
    EXPECT_EQ(text.substr(list["text_offset"][i].get<size_t>(), token.size()), token);
  }
}

// The answer keeps its leading space because the prompt has a text, however many tokens without
// text come between.
TEST_F(ServerTest, AnAnswerKeepsItsSpaceBehindManySpecialTokens) {
  std::vector<int32_t> ids = server_.tokenizer().encode("Once");
  ids.insert(ids.end(), 70, server_.tokenizer().bos_id().value());
  Json body = greedy("", 1);
  body["prompt"] = ids;
  body["allowed_token_ids"] = server_.tokenizer().encode("the", {.add_special = false});
  ASSERT_EQ(body["allowed_token_ids"].size(), 1u);
  EXPECT_EQ(server_.complete(body).json()["choices"][0]["text"], " the");
}

TEST_F(ServerTest, LogprobsHaveTheFormOfTheEndpoint) {
  Json body = greedy("Section 1: How to bind a torn book\nYou need:", 5);
  body["logprobs"] = 2;
  const Json logprobs = server_.complete(body).json()["choices"][0]["logprobs"];
  std::string text;
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(logprobs["text_offset"][i], tokenizer::utf8_length(text));
    const std::string token = logprobs["tokens"][i];
    text += token;
    EXPECT_LE(logprobs["token_logprobs"][i].get<double>(), 0);
    EXPECT_EQ(logprobs["top_logprobs"][i][token], logprobs["token_logprobs"][i]);
    EXPECT_EQ(logprobs["top_logprobs"][i].size(), 2u);
  }
  EXPECT_EQ(server_.complete(body).json()["choices"][0]["text"], text);
  const Json chat = server_
                        .chat({{"messages", user_says("Hello")},
                               {"max_tokens", 3},
                               {"temperature", 0},
                               {"ignore_eos", true},
                               {"logprobs", true},
                               {"top_logprobs", 4}})
                        .json()["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(chat.size(), 3u);
  EXPECT_EQ(chat[0]["top_logprobs"].size(), 4u);
  EXPECT_EQ(chat[0]["top_logprobs"][0]["token"], chat[0]["token"]);  // greedy
  const std::string token = chat[0]["token"];
  EXPECT_EQ(chat[0]["bytes"], Json(std::vector<int>(token.begin(), token.end())));
}

TEST_F(ServerTest, PartsOfCharactersTellTheirBytesAndEqualTextsTheirIds) {
  const TokenTexts texts(server_.tokenizer());
  const int32_t part = server_.tokenizer().token_id("<0xE2>").value();
  const auto never = [](const std::string&) { return false; };
  const auto always = [](const std::string&) { return true; };
  EXPECT_EQ(texts.bytes_of(part), "\xe2");
  EXPECT_EQ(texts.key_of(part, never), "bytes:\\xe2");
  EXPECT_EQ(texts.key_of(part, always), fmt::format("token_id:{}", part));
  const int32_t word = server_.tokenizer().encode("the", {.add_special = false})[0];
  EXPECT_EQ(texts.bytes_of(word), texts.text_of(word));
  EXPECT_EQ(texts.key_of(word, never), texts.text_of(word));
  // Two tokens that alone are only parts of a character keep their own entries.
  Json body = greedy(kPrompt, 1);
  body["logprobs"] = 2;
  body["allowed_token_ids"] = {part, part + 1};
  body["logit_bias"] = {{std::to_string(part), 100}, {std::to_string(part + 1), 90}};
  const Json drawn = server_.complete(body).json()["choices"][0]["logprobs"];
  EXPECT_TRUE(drawn["top_logprobs"][0].contains("bytes:\\xe2")) << drawn;
  const std::string token = drawn["tokens"][0];
  EXPECT_TRUE(token.starts_with("bytes:\\xe")) << token;
  EXPECT_EQ(drawn["top_logprobs"][0][token], drawn["token_logprobs"][0]) << drawn;
}

TEST_F(ServerTest, ErrorsSayWhatIsWrongInTheApisForm) {
  const RawAnswer wrong = server_.complete({{"prompt", "a"}, {"max_tokens", -1}});
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.json()["error"]["param"], "max_tokens");
  EXPECT_EQ(wrong.json()["error"]["type"], "invalid_request_error");
  EXPECT_EQ(server_.complete({{"prompt", "a"}, {"model", "gpt"}}).status, 404);
  EXPECT_EQ(server_.complete({{"prompt", "a"}, {"max_tokens", 600}}).status, 400);
  const std::string nul("a\0b", 3);  // would end an error's text
  EXPECT_NE(server_.complete({{"prompt", "a"}, {"model", nul}})
                .error()
                .find("the model \"a\\x00b\" does not exist here; this server has \"quickstart\""),
            std::string::npos);
  EXPECT_NE(server_.chat({{"messages", Json::array({Json{{"role", nul}, {"content", "a"}}})}})
                .error()
                .find("unknown role \"a\\x00b\". Known: system, user"),
            std::string::npos);
  const auto begins = [&](const RawAnswer& answer, const char* text) {
    EXPECT_TRUE(answer.error().starts_with(text)) << answer.error();
  };
  begins(get(server_.port(), "/v1/x%00%ff"), "there is nothing at /v1/x\\x00\\xff: POST to");
  begins(get(server_.port(), "/v1/models/a%00b"),
         "the model \"a\\x00b\" does not exist here; this server has \"quickstart\"");
  begins(post(server_.port(), "/v1/models/a%00b", {}), "/v1/models/a\\x00b takes GET, not POST");
  EXPECT_EQ(get(server_.port(), "/v1/nothing").status, 404);
  const RawAnswer only_post = get(server_.port(), "/v1/completions");
  EXPECT_EQ(only_post.status, 405);
  EXPECT_NE(only_post.head.find("\r\nAllow: POST\r\n"), std::string::npos) << only_post.head;
  const RawAnswer only_get = post(server_.port(), "/health", {});
  EXPECT_EQ(only_get.status, 405);
  EXPECT_NE(only_get.head.find("\r\nAllow: GET, HEAD\r\n"), std::string::npos) << only_get.head;
  EXPECT_EQ(get(server_.port(), fmt::format("/{}", std::string(600, 'a'))).status, 404);
  RawClient form(server_.port());
  form.send(
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: "
      "2\r\n\r\n{}");
  EXPECT_EQ(form.answer().status, 415);
  RawClient untyped(server_.port());  // any web page may send this
  untyped.send(
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 15\r\n\r\n{\"prompt\": \"a\"}");
  EXPECT_EQ(untyped.answer().status, 415);
}

TEST_F(ServerTest, ModelsHealthAndMetrics) {
  const Json models = get(server_.port(), "/v1/models").json();
  ASSERT_EQ(models["data"].size(), 1u);
  EXPECT_EQ(models["data"][0]["id"], "quickstart");
  EXPECT_EQ(get(server_.port(), "/v1/models/quickstart").json()["id"], "quickstart");
  EXPECT_EQ(get(server_.port(), "/v1/models/gpt").status, 404);
  EXPECT_EQ(get(server_.port(), "/health").status, 200);
  (void)server_.complete(greedy(kPrompt, 8));
  (void)server_.complete({{"prompt", 5}});
  const RawAnswer metrics = get(server_.port(), "/metrics");
  if (!Metrics::absence().empty()) {
    EXPECT_EQ(metrics.status, 501);
    EXPECT_NE(metrics.body.find("prometheus-cpp-dev"), std::string::npos) << metrics.body;
    return;
  }
  EXPECT_NE(metrics.head.find("text/plain; version=0.0.4"), std::string::npos);
  const auto prompt_tokens = server_.tokenizer().encode(kPrompt).size();
  for (const std::string& line : {std::string("reprise_requests_total{outcome=\"length\"} 1"),
                                  std::string("reprise_generated_tokens_total 8"),
                                  fmt::format("reprise_prompt_tokens_total {}", prompt_tokens),
                                  std::string("reprise_http_answers_total{status=\"400\"} 1"),
                                  std::string("reprise_time_to_first_token_seconds_count 1"),
                                  std::string("reprise_time_per_output_token_seconds_count 1"),
                                  std::string("reprise_requests_running 0"),
                                  std::string("# TYPE reprise_queue_seconds histogram")})
    EXPECT_NE(metrics.body.find(line), std::string::npos) << line << " not in\n" << metrics.body;
}

TEST_F(ServerTest, AnAnswerThatAStopTextEndsCountsAsStopped) {
  if (!Metrics::absence().empty()) GTEST_SKIP() << Metrics::absence();
  Json body = greedy(kPrompt, 450);
  body["stop"] = wanted(kPrompt, 12).substr(0, 4);
  ASSERT_EQ(server_.complete(body).json()["choices"][0]["finish_reason"], "stop");
  ASSERT_TRUE(server_.server().service().wait_idle(seconds(20)));
  const std::string metrics = get(server_.port(), "/metrics").body;
  EXPECT_NE(metrics.find("reprise_requests_total{outcome=\"stop\"} 1"), std::string::npos)
      << metrics;
}

TEST_F(ServerTest, AClientThatGoesAwayIsForgotten) {
  for (const bool is_stream : {true, false}) {
    RawClient client(server_.port());
    Json body = greedy(kPrompt, 450);
    body["stream"] = is_stream;
    client.send(post_text("/v1/completions", body.dump()));
    if (is_stream)
      (void)client.receive();
    else
      std::this_thread::sleep_for(milliseconds(20));
    client.close();
    EXPECT_TRUE(server_.server().service().wait_idle(seconds(20)));
  }
  EXPECT_EQ(server_.complete(greedy(kPrompt, 4)).status, 200);
}

TEST_F(ServerTest, ManyClientsAtOnceGetWhatEachWouldAlone) {
  std::vector<std::string> prompts;
  for (int i = 0; i < 8; ++i)
    prompts.push_back(fmt::format("The code of the {} door is", i % 2 == 0 ? "blue" : "brown") +
                      std::string(static_cast<size_t>(i) / 2, ' '));
  std::vector<std::string> texts;  // the decoder serves one engine at a time
  for (const std::string& prompt : prompts) texts.push_back(wanted(prompt, 16));
  std::vector<std::future<std::string>> answers;
  for (int i = 0; i < 32; ++i)
    answers.push_back(std::async(std::launch::async, [&, i] {
      Json body = greedy(prompts[static_cast<size_t>(i) % 8], 16);
      body["stream"] = i % 3 == 0;
      const RawAnswer answer = server_.complete(body);
      return i % 3 == 0 ? streamed(answer, 1).texts[0]
                        : answer.json()["choices"][0]["text"].get<std::string>();
    }));
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(answers[i].get(), texts[i % 8]) << i;
}

TEST_F(ServerTest, ShuttingDownEndsAnswersWithAnErrorThatSaysSo) {
  RawClient streaming(server_.port()), waiting(server_.port());
  Json body = greedy(kPrompt, 450);
  body["n"] = 8;
  waiting.send(post_text("/v1/completions", body.dump()));
  body["stream"] = true;
  streaming.send(post_text("/v1/completions", body.dump()));
  auto stream = std::async(std::launch::async, [&] { return streaming.answer(); });
  auto whole = std::async(std::launch::async, [&] { return waiting.answer(); });
  std::this_thread::sleep_for(milliseconds(30));
  server_.server().shut_down(milliseconds(0));
  EXPECT_EQ(whole.get().status, 503);
  const RawAnswer cut = stream.get();
  if (cut.status == 200) {
    const Streamed found = streamed(cut, 8);
    EXPECT_FALSE(found.is_done);
    EXPECT_NE(found.events.back()["error"]["message"].get<std::string>().find("shutting down"),
              std::string::npos);
  } else {
    EXPECT_EQ(cut.status, 503);
  }
  EXPECT_FALSE(RawClient(server_.port()).is_open());
}

TEST(ServerLimits, AQueueThatIsFullSaysWhenToComeBack) {
  QuickstartServer server({.server = {.port = 0, .service = {.most_requests = 2}}});
  const RawAnswer answer = server.complete({{"prompt", "a"}, {"n", 3}});
  EXPECT_EQ(answer.status, 429);
  EXPECT_NE(answer.head.find("Retry-After"), std::string::npos);
  EXPECT_EQ(answer.json()["error"]["code"], "queue_full");
}

TEST(ServerLimits, ARequestEndsInItsTime) {
  ServerOptions options{.port = 0};
  options.endpoints.request_timeout = milliseconds(30);
  QuickstartServer server({.max_sequence_tokens = 2048, .server = options});
  Json body = {{"prompt", "a"}, {"max_tokens", 2000}, {"ignore_eos", true}, {"n", 8}};
  const RawAnswer whole = server.complete(body);
  EXPECT_EQ(whole.status, 408);
  body["stream"] = true;
  const RawAnswer cut = server.complete(body);
  if (cut.status == 200) {
    EXPECT_EQ(Json::parse(events_of(cut.body).back())["error"]["type"], "timeout_error");
  }
  EXPECT_TRUE(server.server().service().wait_idle(seconds(20)));
}

TEST(ServerLimits, TheKeyIsAskedForAndCompared) {
  ServerOptions options{.port = 0};
  options.endpoints.api_key = "secret%41";
  QuickstartServer server({.server = options});
  const auto status = [&](const std::string& path, const std::string& header) {
    return get(server.port(), path, header).status;
  };
  EXPECT_EQ(status("/v1/models", ""), 401);
  for (const char* key : {"", "Bearer", "Bearer ", "Bearer secret%4", "Bearer secret%412",
                          "secret%41", "Bearer tecret%41", "Bearer secretA"})
    EXPECT_EQ(status("/v1/models", fmt::format("Authorization: {}\r\n", key)), 401) << key;
  for (const char* scheme : {"Bearer", "bearer", "BEARER"})
    EXPECT_EQ(status("/v1/models", fmt::format("Authorization: {} secret%41\r\n", scheme)), 200);
  EXPECT_EQ(post(server.port(), "/tokenize", {{"prompt", "a"}}).status, 401);
  EXPECT_EQ(status("/health", ""), 200);
  EXPECT_EQ(status("/metrics", ""), Metrics::absence().empty() ? 200 : 501);
}

TEST(ServerLimits, WithoutATemplateChatsAreRefusedAndCompletionsServed) {
  QuickstartServer server({.chat_template = ""});
  const RawAnswer answer = server.chat({{"messages", user_says("a")}});
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.error().find("--chat-template"), std::string::npos) << answer.error();
  EXPECT_EQ(server.complete({{"prompt", "a"}}).status, 200);
}

}  // namespace
}  // namespace reprise::server
