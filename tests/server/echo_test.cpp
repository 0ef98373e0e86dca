// Tests completions that echo their prompt, over a real socket, with the shipped model.
#include <gtest/gtest.h>

#include "server/echo.h"
#include "server/server.h"
#include "server/token_texts.h"
#include "tests/server/served_quickstart.h"

namespace reprise::server {
namespace {

TEST_F(ServerTest, EchoBeginsEachChoiceWithItsPrompt) {
  const std::vector<std::string> prompts = {kPrompt, "  Once\n upon "};
  Json body = greedy("", 12);
  body["prompt"] = prompts;
  body["n"] = 2;
  body["echo"] = true;
  body["return_token_ids"] = true;
  const auto expect_texts = [&](const std::vector<std::string>& begins, const Json& choices,
                                const std::vector<std::string>& streamed_texts) {
    for (size_t i = 0; i < 4; ++i) {
      const std::string want = begins[i / 2] + wanted(prompts[i / 2], 12);
      EXPECT_EQ(choices[i]["text"], want);
      EXPECT_EQ(streamed_texts[i], want);
      EXPECT_EQ(choices[i]["token_ids"].size(), 12u);  // the answer's alone
    }
  };
  const auto whole_and_streamed = [&](const std::vector<std::string>& begins) {
    body["stream"] = false;
    const Json whole = server_.complete(body).json();
    EXPECT_EQ(whole["usage"]["completion_tokens"], 4 * 12);
    body["stream"] = true;
    const Streamed found = streamed(server_.complete(body), 4);
    expect_texts(begins, whole["choices"], found.texts);
    std::vector<bool> has_begun(4);
    for (const Json& event : found.events) {
      const Json& choice = event["choices"][0];
      const auto index = choice["index"].get<size_t>();
      const auto text = choice["text"].get<std::string>();
      EXPECT_TRUE(has_begun[index] || text.starts_with(begins[index / 2])) << event;
      has_begun[index] = true;
    }
  };
  whole_and_streamed(prompts);
  std::vector<std::string> decoded;
  body["prompt"] = Json::array();
  for (const std::string& prompt : prompts) {
    body["prompt"].push_back(server_.tokenizer().encode(prompt));
    decoded.push_back(server_.tokenizer().decode(server_.tokenizer().encode(prompt)));
  }
  whole_and_streamed(decoded);
}

TEST_F(ServerTest, EchoWithoutAnAnswerIsThePromptAlone) {
  for (const bool is_stream : {false, true}) {
    Json body = {{"prompt", kPrompt}, {"echo", true}, {"max_tokens", 0}, {"stream", is_stream}};
    if (is_stream) body["stream_options"] = {{"include_usage", true}};
    const RawAnswer answer = server_.complete(body);
    ASSERT_EQ(answer.status, 200) << answer.body;
    Json usage, choice;
    if (is_stream) {
      const Streamed found = streamed(answer, 1);
      ASSERT_EQ(found.events.size(), 2u);
      choice = found.events[0]["choices"][0];
      usage = found.events[1]["usage"];
    } else {
      choice = answer.json()["choices"][0];
      usage = answer.json()["usage"];
    }
    EXPECT_EQ(choice["text"], kPrompt);
    EXPECT_EQ(choice["finish_reason"], "length");
    EXPECT_EQ(usage["completion_tokens"], 0);
    EXPECT_EQ(usage["prompt_tokens"], server_.tokenizer().encode(kPrompt).size());
  }
}

// A stop text that lies in the prompt, or begins in it, does not end the answer.
TEST_F(ServerTest, StopTextsAreNotSoughtInAnEchoedPrompt) {
  const std::string answer = wanted(kPrompt, 12);
  Json body = greedy(kPrompt, 12);
  body["echo"] = true;
  body["stop"] = {"blue door", ":" + answer.substr(0, 2)};
  EXPECT_EQ(server_.complete(body).json()["choices"][0]["text"], kPrompt + answer);
  body["stop"] = answer.substr(4, 3);
  const Json choice = server_.complete(body).json()["choices"][0];
  EXPECT_EQ(choice["text"], kPrompt + answer.substr(0, answer.find(answer.substr(4, 3))));
  EXPECT_EQ(choice["finish_reason"], "stop");
}

// The prompt ends within a character, which the answer may complete or not.
TEST_F(ServerTest, EchoedTokensMayEndWithinACharacter) {
  std::vector<int32_t> ids = server_.tokenizer().encode("a \xf0\x9f\xa6\x94");
  ids.pop_back();
  ASSERT_TRUE(server_.tokenizer().decode(ids).ends_with(tokenizer::kReplacement));
  const std::vector<int32_t> more =
      testing::generate(server_.decoder(), ids, 4, "contiguous", 512, Context::machine());
  Json body = greedy("", 4);
  body["prompt"] = ids;
  body["echo"] = true;
  const std::string text = server_.complete(body).json()["choices"][0]["text"];
  ids.insert(ids.end(), more.begin(), more.end());
  EXPECT_EQ(text, server_.tokenizer().decode(ids));
}

// The engine alone computes the logits of all rows; a prompt token's log probability comes from the
// row before it. The prompt is sent twice, to show that reuse leaves out no row.
TEST_F(ServerTest, EchoTellsLogprobsOfThePrompt) {
  const std::vector<int32_t> ids = server_.tokenizer().encode(kPrompt);
  const std::vector<float> logits =
      testing::all_logits(server_.decoder(), ids, static_cast<int32_t>(ids.size()));
  const size_t vocab = logits.size() / ids.size();
  for (const int tokens : {0, 3, 3}) {
    Json body = greedy(kPrompt, tokens);
    body["echo"] = true;
    body["logprobs"] = 2;
    const RawAnswer answer = server_.complete(body);
    ASSERT_EQ(answer.status, 200) << answer.body;
    const Json choice = answer.json()["choices"][0];
    const std::string text = choice["text"];
    const Json& list = choice["logprobs"];
    ASSERT_EQ(list["tokens"].size(), ids.size() + static_cast<size_t>(tokens));
    EXPECT_TRUE(list["token_logprobs"][0].is_null() && list["top_logprobs"][0].is_null());
    for (size_t i = 1; i < ids.size(); ++i) {
      const auto row = std::span(logits).subspan((i - 1) * vocab, vocab);
      const std::vector<TokenLogprob> want = logprobs_of(row, ids[i], 2);
      EXPECT_NEAR(list["token_logprobs"][i].get<double>(), want[0].logprob, 1e-4) << i;
      EXPECT_GE(list["top_logprobs"][i].size(), 2u);
    }
    // The texts here have one byte for each character. The first word's token begins with a space
    // that the text lacks.
    EXPECT_EQ(list["text_offset"][1], 0);
    for (size_t i = 2; i < list["tokens"].size(); ++i) {
      const auto token = list["tokens"][i].get<std::string>();
      EXPECT_EQ(text.substr(list["text_offset"][i].get<size_t>(), token.size()), token);
    }
    body["stream"] = true;
    const Streamed found = streamed(server_.complete(body), 1);
    EXPECT_EQ(found.events[0]["choices"][0]["logprobs"]["tokens"].size(),
              ids.size() + (tokens > 0 ? 1 : 0));
  }
  Json one = {{"prompt", {5}}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 0}};
  const Json list = server_.complete(one).json()["choices"][0]["logprobs"];
  EXPECT_EQ(list["tokens"].size(), 1u) << list;
}

// The bytes of an incomplete character become U+FFFD once the next token shows that the character
// stays incomplete.
TEST_F(ServerTest, OffsetsAreBehindTheReplacementOfABrokenCharacter) {
  const int32_t part = server_.tokenizer().token_id("<0xE2>").value();
  const int32_t word = server_.tokenizer().encode("the", {.add_special = false})[0];
  Json body = greedy("", 3);
  body["prompt"] = {server_.tokenizer().bos_id().value(), word, part, word, part};
  body["allowed_token_ids"] = {word};
  body["echo"] = true;
  body["logprobs"] = 0;
  const Json choice = server_.complete(body).json()["choices"][0];
  EXPECT_EQ(choice["text"], "the\xEF\xBF\xBD the\xEF\xBF\xBD the the the");
  EXPECT_EQ(choice["logprobs"]["text_offset"], Json({0, 0, 3, 4, 8, 9, 13, 17}));
}

// A tokenizer.json reads special tokens that are written in a text; a tokenizer.model does not.
TEST_F(ServerTest, OffsetsCountTheSpecialTokensThatAreWrittenInThePrompt) {
  const auto offsets = [](const Tokenizer& tokenizer, const std::string& text) {
    return echo_of(tokenizer, TokenTexts(tokenizer), tokenizer.encode(text), text).offsets;
  };
  using Offsets = std::vector<int64_t>;
  const auto json = load_tokenizer(REPRISE_SOURCE_DIR "/models/recall/llama");
  EXPECT_EQ(offsets(*json, "a</s>b cat"), (Offsets{0, 0, 1, 5, 6, 7, 8, 9}));
  EXPECT_EQ(offsets(*json, "<s>a"), (Offsets{0, 0, 3}));
  EXPECT_EQ(offsets(server_.tokenizer(), "<s>a"), (Offsets{0, 0, 0, 1, 2, 3}));
}

}  // namespace
}  // namespace reprise::server
