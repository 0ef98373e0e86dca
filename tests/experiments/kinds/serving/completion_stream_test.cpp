// Tests streams as servers write them, cut anywhere, and bytes that are no streams.
#include "experiments/kinds/serving/completion_stream.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/random.h"
#include "tests/experiments/kinds/serving/echo_server.h"

namespace reprise::server {
namespace {

// Reads pieces; piece i arrives at second i.
CompletionAnswer read(const std::vector<std::string>& pieces, int64_t wanted = -1) {
  CompletionStream stream;
  double time_s = 0;
  for (const std::string& piece : pieces) stream.feed(piece, time_s++);
  return stream.take(wanted, true);
}

CompletionAnswer read(const EchoAnswer& answer, int64_t wanted = -1) {
  std::vector<std::string> pieces;
  for (const EchoPiece& piece : answer.pieces) pieces.push_back(piece.bytes);
  return read(pieces, wanted);
}

using Times = std::vector<double>;

TEST(CompletionStream, EveryWayOfTellingGivesTheSameTimes) {
  for (const Telling telling : {Telling::kNothing, Telling::kUsageAtEnd, Telling::kRunningUsage,
                                Telling::kTokenIds, Telling::kLogprobs}) {
    const CompletionAnswer answer = read(completion(4, 0, 0, telling));
    EXPECT_EQ(answer.token_s, (Times{0, 1, 2, 3})) << static_cast<int>(telling);
    EXPECT_EQ(answer.finish_reason, "length");
    EXPECT_EQ(answer.fault, "");
  }
  const CompletionAnswer answer = read(completion(3, 0, 0, Telling::kTokenIds, 1, 11, 5));
  EXPECT_EQ(answer.token_ids, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(answer.prompt_tokens, 11);
  EXPECT_EQ(answer.cached_tokens, 5);
}

TEST(CompletionStream, TheFirstTokenIsSeenWhenItComes) {
  const auto has_token = [](const std::string& choice) {
    CompletionStream stream;
    stream.feed("data: {\"choices\":[" + choice + "]}\n", 0);
    EXPECT_FALSE(stream.has_token());  // the event has no end yet
    stream.feed("\n", 1);
    return stream.has_token();
  };
  EXPECT_TRUE(has_token(R"({"text":"a"})"));
  EXPECT_TRUE(has_token(R"({"text":"","token_ids":[5]})"));  // half of a character
  EXPECT_TRUE(has_token(R"({"delta":{"reasoning":"hm"}})"));
  EXPECT_FALSE(has_token(R"({"delta":{"role":"assistant","content":""}})"));
  EXPECT_FALSE(has_token(R"({"text":"","token_ids":[]})"));
}

// Chats as vLLM, SGLang and DeepSeek's own server write them: a role, reasoning, then the answer.
TEST(CompletionStream, ChatsAreReadAndTheirReasoningCounted) {
  const auto event = [](const std::string& delta) {
    return "data: {\"choices\":[{\"delta\":{" + delta + "}}]}\n\n";
  };
  const std::vector<std::string> pieces = {
      event(R"("role":"assistant","content":"")"),
      event(R"("reasoning_content":"hm")"),
      event(R"("reasoning":"so")"),
      event(R"("content":"yes")"),
      event(R"("content":"!")"),
      "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n"};
  const auto with_end = [&](const std::string& usage) {
    std::vector<std::string> all = pieces;
    all.push_back("data: {\"choices\":[],\"usage\":{" + usage + "}}\n\n");
    return read(all);
  };
  const CompletionAnswer answer = with_end(R"("completion_tokens":4,"prompt_tokens":20)");
  EXPECT_EQ(answer.token_s, (Times{1, 2, 3, 4}));
  EXPECT_EQ(answer.reasoning_tokens, 2);
  EXPECT_EQ(answer.text, "hmsoyes!");
  EXPECT_EQ(answer.prompt_tokens, 20);
  EXPECT_EQ(answer.finish_reason, "length");
  EXPECT_EQ(with_end(R"("completion_tokens":4,"completion_tokens_details":{"reasoning_tokens":1})")
                .reasoning_tokens,
            1);
  // The events of tokens have ids. The event with the role has none, and is no token.
  const CompletionAnswer told =
      read({event(R"("role":"assistant","content":"")"),
            "data: {\"choices\":[{\"delta\":{\"content\":\"\"},\"token_ids\":[7]}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"token_ids\":[8]}]}\n\n"});
  EXPECT_EQ(told.token_ids, (std::vector<int32_t>{7, 8}));
  EXPECT_EQ(told.token_s, (Times{1, 2}));
  EXPECT_EQ(told.reasoning_tokens, 0);
}

// TGI repeats the role in every event. A token without text, such as half of a character, may come
// first or later.
TEST(CompletionStream, AnEventWithARoleIsATokenWhereThatMakesTheTotal) {
  const auto read_chat = [](const std::vector<std::string>& contents, int total) {
    std::vector<std::string> pieces;
    for (const std::string& content : contents)
      pieces.push_back(
          fmt::format("data: {{\"choices\":[{{\"delta\":{{\"role\":\"assistant\","
                      "\"content\":\"{}\"}}}}]}}\n\n",
                      content));
    pieces.push_back(
        fmt::format("data: {{\"choices\":[],\"usage\":{{\"completion_tokens\":{}}}}}\n\n", total));
    return read(pieces).token_s;
  };
  EXPECT_EQ(read_chat({"", "a", "a", "a", "a", "a"}, 6), (Times{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(read_chat({"", "a", "a", "a", "a", "a"}, 5), (Times{1, 2, 3, 4, 5}));
  EXPECT_EQ(read_chat({"a", "", "a", "a"}, 4), (Times{0, 1, 2, 3}));
  EXPECT_EQ(read_chat({"", "", "a", "a"}, 3), (Times{1, 2, 3}));
  EXPECT_EQ(read({"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
                  "\"finish_reason\":\"length\"}],\"usage\":{\"completion_tokens\":1}}\n\n"})
                .token_s,
            Times{0});
}

TEST(CompletionStream, TokensOfOneEventShareItsTime) {
  for (const Telling telling : {Telling::kRunningUsage, Telling::kTokenIds, Telling::kLogprobs})
    EXPECT_EQ(read(completion(5, 0, 0, telling, 2)).token_s, (Times{0, 0, 1, 1, 2}))
        << static_cast<int>(telling);
}

// A server may send an event for each token, also for a token without text, and one more event at
// the end. The total in usage tells which events are tokens.
TEST(CompletionStream, EventsWithoutTextAreTokensWhereThatMakesTheTotal) {
  const auto stream = [](int total) {
    return read({"data: {\"choices\":[{\"text\":\"a\"}]}\n\n",
                 "data: {\"choices\":[{\"text\":\"\"}]}\n\n",
                 "data: {\"choices\":[{\"text\":\"b\"}]}\n\n",
                 fmt::format("data: {{\"choices\":[],\"usage\":{{\"completion_tokens\":{}}}}}\n\n",
                             total)})
        .token_s;
  };
  EXPECT_EQ(stream(3), (Times{0, 1, 2}));
  EXPECT_EQ(stream(2), (Times{0, 2}));
  EXPECT_EQ(stream(4), (Times{0, 0, 0, 2}));  // neither 2 nor 3 events fit: spread
}

TEST(CompletionStream, AnAnswerThatEndsForItsLengthHasWhatWasAskedFor) {
  const CompletionAnswer answer = read(completion(7, 0, 0, Telling::kNothing, 3), 7);
  EXPECT_EQ(answer.token_s, (Times{0, 0, 0, 1, 1, 1, 2}));
  EXPECT_FALSE(answer.tells_tokens);
  EXPECT_TRUE(read(completion(7, 0, 0, Telling::kUsageAtEnd, 3), 9).tells_tokens);
  EXPECT_EQ(read(completion(7, 0, 0, Telling::kUsageAtEnd, 3), 9).token_s.size(), 7u);
  const CompletionAnswer stopped =
      read({"data: {\"choices\":[{\"text\":\"ab\",\"finish_reason\":\"stop\"}]}\n\n"}, 7);
  EXPECT_EQ(stopped.token_s, (Times{0}));
}

// Three events bring seven tokens, as the end says: the tokens are spread evenly from the first
// event to the last.
TEST(CompletionStream, TokensThatNoEventTellsOfAreSpread) {
  EXPECT_EQ(read(completion(7, 0, 0, Telling::kUsageAtEnd, 3)).token_s,
            (Times{0, 0, 0, 1, 1, 1, 2}));
  EXPECT_EQ(read({"data: {\"choices\":[{\"text\":\"a\"}],\"usage\":null}\n\n",
                  "data: {\"choices\":[],\"usage\":{\"completion_tokens\":1}}\n\n"})
                .token_s,
            Times{0});
  // More events than tokens: the last token came with the last event.
  EXPECT_EQ(read({"data: {\"choices\":[{\"text\":\"a\"}]}\n\n",
                  "data: {\"choices\":[{\"text\":\"b\"}]}\n\n",
                  "data: {\"choices\":[{\"text\":\"c\"}],\"usage\":{\"completion_tokens\":2}}\n\n"})
                .token_s.size(),
            2u);
}

std::string event(const std::string& choice, const std::string& more = "") {
  return "data: {\"choices\":[{" + choice + "}]" + more + "}\n\n";
}
std::string usage(int tokens) {
  return fmt::format(",\"usage\":{{\"completion_tokens\":{}}}", tokens);
}
const std::string kEnd = "\"text\":\"\",\"finish_reason\":\"length\"";

// A server that generates nothing must not seem fast, whatever its usage says.
TEST(CompletionStream, AnAnswerWithoutTextHasNoTokensThatNoEventTells) {
  EXPECT_TRUE(read({event(kEnd)}, 64).token_s.empty());
  EXPECT_TRUE(read({event(kEnd)}, 1).token_s.empty());
  EXPECT_TRUE(read({event(R"("delta":{"role":"assistant","content":""})"),
                    event(R"("delta":{},"finish_reason":"length")")},
                   64)
                  .token_s.empty());
  EXPECT_TRUE(read({event(kEnd), "data: {\"choices\":[]" + usage(64) + "}\n\n"}).token_s.empty());
  EXPECT_TRUE(read({event(kEnd, usage(64))}).token_s.empty());
  // The token that ends a text has no text of its own.
  EXPECT_EQ(read({event(kEnd, usage(1))}).token_s, Times{0});
}

// The event that ends an answer may come late, with the total or an empty list of ids.
TEST(CompletionStream, TheEndOfAnAnswerIsNoToken) {
  const std::string a = event("\"text\":\"a\"");
  EXPECT_EQ(read({a, a, a, event(kEnd, usage(3))}).token_s, (Times{0, 1, 2}));
  EXPECT_EQ(read({a, event("\"text\":\"\""), a, event(kEnd, usage(3))}).token_s, (Times{0, 1, 2}));
  EXPECT_EQ(read({a, a, event(kEnd, usage(3))}).token_s, (Times{0, 1, 2}));
  const std::string id = event(R"("text":"a","token_ids":[7])");
  EXPECT_EQ(read({id, id, event(kEnd + ",\"token_ids\":[]", usage(2))}).token_s, (Times{0, 1}));
}

TEST(CompletionStream, ACountOfZeroBeforeTheEndIsNone) {
  const std::string a = event("\"text\":\"a\"", usage(0));
  EXPECT_EQ(read({a, a, a, event(kEnd, usage(3))}).token_s, (Times{0, 1, 2}));
  EXPECT_EQ(read({a, a, event("\"text\":\"b\",\"finish_reason\":\"stop\"", usage(3))}).token_s,
            (Times{0, 1, 2}));
}

TEST(CompletionStream, RunningCountsOfLlamaCppAreRead) {
  const auto event = [](const char* text, int count) {
    return fmt::format(
        "data: {{\"choices\":[{{\"text\":\"{}\"}}],\"timings\":{{\"predicted_n\":{},"
        "\"cache_n\":3}}}}\n\n",
        text, count);
  };
  const CompletionAnswer answer = read({event("a", 1), event("b", 3), "data: [DONE]\n\n"});
  EXPECT_EQ(answer.token_s, (Times{0, 1, 1}));
  EXPECT_EQ(answer.cached_tokens, 3);
}

TEST(CompletionStream, BytesMayBeCutAnywhereAndLinesEndEitherWay) {
  std::string whole;
  for (const EchoPiece& piece : completion(6, 0, 0).pieces) whole += piece.bytes;
  std::string windows;
  for (const char c : whole) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  for (const std::string& text : {whole, windows, ": a comment\n\nevent: message\n" + whole})
    for (uint64_t seed = 1; seed <= 50; ++seed) {
      std::vector<std::string> pieces;
      for (size_t at = 0; at < text.size();) {
        const size_t length = 1 + random_bits(seed, at, 0) % 40;
        pieces.push_back(text.substr(at, length));
        at += length;
      }
      const CompletionAnswer answer = read(pieces);
      EXPECT_EQ(answer.token_s.size(), 6u) << "seed " << seed;
      EXPECT_TRUE(std::is_sorted(answer.token_s.begin(), answer.token_s.end()));
      EXPECT_EQ(answer.fault, "");
    }
}

TEST(CompletionStream, ATokensTimeIsThatOfItsEventsLastBytes) {
  const std::string event = "data: {\"choices\":[{\"text\":\"a\"}]}\n\n";
  EXPECT_EQ(read({event.substr(0, 10), event.substr(10, 5), event.substr(15)}).token_s, Times{2});
  EXPECT_EQ(read({"data: {\"choices\":[{\"text\":\"a\"}]}"}).token_s, Times{0});  // no blank line
}

TEST(CompletionStream, WhatIsNoStreamHasAFault) {
  EXPECT_EQ(read({"data: {\"error\":{\"message\":\"out of\\nmemory\"}}\n\n"}).fault,
            "out of\\nmemory");
  EXPECT_EQ(read({"data: {\"error\":\"no\"}\n\n"}).fault, "no");
  EXPECT_EQ(read({"data: {\"choices\":[{\"te\n\n"}).fault, "an event that is no JSON");
  EXPECT_EQ(read({"data: " + std::string(size_t{17} << 20, 'x')}).fault,
            "an event of more than 16 MiB");
  EXPECT_EQ(read({"data: " + std::string(5000, '[') + "\n\n"}).fault, "an event that is no JSON");
}

// If a value of another type stands where a number or text belongs, nothing must crash and no token
// be counted.
TEST(CompletionStream, StrangeValuesAreNoTokens) {
  for (const char* value : {"null", "3", "-7", "1e400", "\"a\"", "[]", "[1]", "{}", "true",
                            "99999999999999999999", "2.5", "[[1]]", "[-1]", "[3000000000]"})
    for (const char* event :
         {"{{\"choices\":{}}}", "{{\"choices\":[{}]}}", "{{\"choices\":[{{\"text\":{}}}]}}",
          "{{\"choices\":[{{\"token_ids\":{}}}]}}", "{{\"choices\":[{{\"logprobs\":{}}}]}}",
          "{{\"choices\":[{{\"logprobs\":{{\"tokens\":{}}}}}]}}", "{{\"usage\":{}}}",
          "{{\"choices\":[{{}}],\"usage\":{{\"completion_tokens\":{}}}}}",
          "{{\"choices\":[{{\"finish_reason\":{}}}]}}", "{{\"timings\":{}}}", "{}"}) {
      const CompletionAnswer answer =
          read({"data: " + fmt::format(fmt::runtime(event), value) + "\n\n"});
      EXPECT_LE(answer.token_s.size(), 3u) << event << " of " << value;
    }
}

TEST(CompletionStream, ErrorBodiesAreReadOrShown) {
  EXPECT_EQ(error_text(R"({"error":{"message":"too long","type":"x"}})"), "too long");
  EXPECT_EQ(error_text(R"({"message":"no such model"})"), "no such model");
  EXPECT_EQ(error_text("<html>\x1b[31m"), "<html>\\x1b[31m");
  EXPECT_EQ(error_text(std::string(1000, 'x')).size(), 200u);
  EXPECT_EQ(error_text(""), "");
}

}  // namespace
}  // namespace reprise::server
