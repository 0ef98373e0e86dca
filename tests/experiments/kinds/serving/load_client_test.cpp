// Tests the load client against a real server on the loopback: the requests that it sends, the
// times that it records, and every way in which a request can fail.
#include "experiments/kinds/serving/load_client.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "core/base/error.h"
#include "experiments/serving/metrics.h"
#include "experiments/serving/run.h"
#include "tests/experiments/kinds/serving/echo_server.h"
#include "tests/experiments/serving/simulated_server.h"
#include "tests/support/json.h"

namespace reprise::server {
namespace {

namespace serving = experiments::serving;
using serving::Outcome;
using serving::RequestEntry;

template <typename Call>
std::string message(Call&& call) {
  try {
    call();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Lists one model, and answers completions by `script`.
EchoServer::Script serving_model(EchoServer::Script script) {
  return [script = std::move(script)](const EchoRequest& request) {
    return request.path == "/v1/models" ? model_list() : script(request);
  };
}

EchoServer::Script all_tokens(double first_s, double gap_s) {
  return serving_model([=](const EchoRequest& request) {
    return completion(max_tokens_of(request), first_s, gap_s, Telling::kTokenIds, 1, 8, 4);
  });
}

LoadOptions options_for(const EchoServer& server) {
  return {.place = {.url = server.url(), .connect_timeout_s = 2, .silence_timeout_s = 5}};
}

serving::RunResult run_even(const LoadOptions& options, const ServerFacts& facts, int64_t count,
                            double gap_s, serving::RunOptions run_options = {}) {
  const serving::SteadyClock clock;
  const auto target = make_server_target(options, facts, clock);
  serving::EvenSource source;
  source.count = count;
  workloads::ArrivalSchedule schedule;
  for (int64_t i = 0; i < count; ++i) schedule.intended_s.push_back(gap_s * static_cast<double>(i));
  run_options.rules.least_duration_s = 0;
  run_options.rules.least_requests = 1;
  run_options.rules.most_late_s = 10;  // these tests assert no times
  return serving::run(*target, source, schedule, run_options, clock);
}

// A closed loop: each user sends the next request once the last is answered.
serving::RunResult run_closed(const LoadOptions& options, int64_t count, int64_t users) {
  const serving::SteadyClock clock;
  const auto target = make_server_target(options, {.model = "echo"}, clock);
  serving::EvenSource source;
  source.count = count;
  const workloads::ArrivalSchedule closed = {
      .intended_s = std::vector<double>(static_cast<size_t>(count), 0.0), .most_in_flight = users};
  return serving::run(*target, source, closed,
                      {.rules = {.least_duration_s = 0, .least_requests = 1}}, clock);
}

TEST(ServerUrl, IsReadStrictly) {
  EXPECT_EQ(parse_server_url("http://127.0.0.1:8000").api, "/v1");
  EXPECT_EQ(parse_server_url("http://127.0.0.1:8000/").origin, "http://127.0.0.1:8000");
  EXPECT_EQ(parse_server_url("http://host/v1/").api, "/v1");
  EXPECT_EQ(parse_server_url("http://host/llm/api").api, "/llm/api/v1");
  std::string with_tls;
  const std::string refusal =
      message([&] { with_tls = parse_server_url("https://host/llm/api").api; });
  if (with_tls.empty())
    EXPECT_NE(refusal.find("built without TLS"), std::string::npos) << refusal;
  else
    EXPECT_EQ(with_tls, "/llm/api/v1");
  EXPECT_EQ(parse_server_url("http://[::1]:80").origin, "http://[::1]:80");
  for (const char* wrong :
       {"", "127.0.0.1:8000", "ftp://host", "http://", "http://:80",
        "http://host:", "http://host:0", "http://host:65536", "http://host:8a", "http://ho st",
        "http://host/?a=b", "http://a@host", "http://host/#x", "http://host:123456789012345678901"})
    EXPECT_NE(message([&] { (void)parse_server_url(wrong); }).find("http://HOST:PORT"),
              std::string::npos)
        << wrong;
}

TEST(LoadClient, SaysWhatItWantsInOneRequest) {
  const LoadOptions options{.model = "m\"1"};
  const Question question = question_of(options, {.model = options.model}, {5, 6, 7}, 9);
  EXPECT_EQ(question.path, "/completions");
  EXPECT_EQ(question.wanted, 9);
  const Json body = Json::parse(question.body);
  EXPECT_EQ(body["model"], "m\"1");
  EXPECT_EQ(body["prompt"], Json({5, 6, 7}));
  EXPECT_EQ(body["max_tokens"], 9);
  EXPECT_EQ(body["temperature"], 0);
  EXPECT_EQ(body["stream"], true);
  EXPECT_EQ(body["ignore_eos"], true);
  EXPECT_EQ(body["stream_options"]["include_usage"], true);
  ServerFacts strict = {.model = "m", .takes_extensions = false};
  Json plain = Json::parse(question_of(options, strict, {5}, 9).body);
  EXPECT_FALSE(plain.contains("ignore_eos"));
  EXPECT_EQ(plain["stream_options"], Json({{"include_usage", true}}));
  strict.takes_usage = false;
  plain = Json::parse(question_of(options, strict, {5}, 9).body);
  EXPECT_FALSE(plain.contains("stream_options"));
}

TEST(LoadClient, SendsAChatAsTheUsersMessageWithoutSpecialTokens) {
  const std::shared_ptr<const Tokenizer> tokenizer =
      load_tokenizer(REPRISE_SOURCE_DIR "/models/quickstart");
  const std::vector<int32_t> prompt = tokenizer->encode("The blue door");
  const LoadOptions options{.form = PromptForm::kChat, .tokenizer = tokenizer};
  const Question question = question_of(options, {.model = "m"}, prompt, 3);
  EXPECT_EQ(question.path, "/chat/completions");
  const Json body = Json::parse(question.body);
  EXPECT_EQ(body["messages"], Json::parse(R"([{"role": "user", "content": "The blue door"}])"));
  EXPECT_FALSE(body.contains("prompt"));
  EXPECT_EQ(body["max_tokens"], 3);
  const serving::SteadyClock clock;
  EchoServer server(all_tokens(0, 0));  // reports 8 prompt tokens
  LoadOptions chat = options_for(server);
  EXPECT_EQ(ask_server(chat, {1}, clock, /*stop=*/false).template_tokens, 0);
  chat.form = PromptForm::kChat;
  chat.tokenizer = tokenizer;
  EXPECT_EQ(ask_server(chat, {1}, clock, /*stop=*/false).template_tokens, 8);
  const LoadOptions without{.form = PromptForm::kChat};
  EXPECT_NE(
      message([&] { (void)ask_server(without, {1}, clock, /*stop=*/false); }).find("tokenizer"),
      std::string::npos);
}

// The quickstart tokenizer puts <s> in front of a text, but reads "<s>" in a text as ordinary text.
TEST(LoadClient, SendsATextWithoutTheSpecialTokensThatTheServerAdds) {
  const std::shared_ptr<const Tokenizer> tokenizer =
      load_tokenizer(REPRISE_SOURCE_DIR "/models/quickstart");
  const LoadOptions options{.form = PromptForm::kText, .tokenizer = tokenizer};
  const auto sent = [&](const std::vector<int32_t>& prompt) {
    const Question question = question_of(options, {.model = "m"}, prompt, 3);
    EXPECT_EQ(question.path, "/completions");
    return Json::parse(question.body)["prompt"].get<std::string>();
  };
  std::vector<int32_t> prompt = tokenizer->encode("The blue door");
  ASSERT_EQ(prompt.front(), tokenizer->bos_id());
  EXPECT_EQ(sent(prompt), "The blue door");
  EXPECT_EQ(tokenizer->encode(sent(prompt)), prompt);
  const std::vector<int32_t> salt = tokenizer->encode("red", {.add_special = false});
  prompt.insert(prompt.begin(), salt.begin(), salt.end());
  EXPECT_EQ(sent(prompt), "red The blue door");
  EXPECT_EQ(tokenizer->encode(sent(prompt)).size(), prompt.size());
}

// The quickstart tokenizer reads "</s>" in a text as ordinary text. A tokenizer.json reads it as
// the token.
TEST(LoadClient, SendsATextWithoutSpecialTokensThatWouldBeReadAsOrdinaryText) {
  const auto sent = [](const char* model) {
    const std::shared_ptr<const Tokenizer> tokenizer =
        load_tokenizer(std::string(REPRISE_SOURCE_DIR "/models/") + model);
    std::vector<int32_t> prompt = tokenizer->encode("The blue door");
    prompt.push_back(tokenizer->eos_id().value());
    const Question question =
        question_of({.form = PromptForm::kText, .tokenizer = tokenizer}, {.model = "m"}, prompt, 3);
    return Json::parse(question.body)["prompt"].get<std::string>();
  };
  EXPECT_EQ(sent("quickstart"), "The blue door");
  EXPECT_EQ(sent("recall/llama"), "The blue door</s>");
}

// The text of <s> is empty, and servers refuse an empty text.
TEST(LoadClient, AShortPromptHasAText) {
  const std::shared_ptr<const Tokenizer> tokenizer =
      load_tokenizer(REPRISE_SOURCE_DIR "/models/quickstart");
  const std::vector<int32_t> prompt = tokenizer->encode("The blue door");
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(short_prompt({}, prompt), Ids{prompt[0]});
  for (const PromptForm form : {PromptForm::kText, PromptForm::kChat}) {
    EXPECT_EQ(short_prompt({.form = form, .tokenizer = tokenizer}, prompt), Ids{prompt[1]});
    EXPECT_EQ(short_prompt({.form = form, .tokenizer = tokenizer}, {prompt[0]}), Ids{prompt[0]});
  }
}

TEST(LoadClient, IdsOfAnotherTokenizerAreNotKept) {
  const std::shared_ptr<const Tokenizer> tokenizer =
      load_tokenizer(REPRISE_SOURCE_DIR "/models/quickstart");
  const std::vector<int32_t> ids = tokenizer->encode("The blue door", {.add_special = false});
  ASSERT_EQ(ids.size(), 3u);
  const auto kept = [&](const std::string& text) {
    const std::string event =
        fmt::format(R"({{"choices":[{{"text":{},"token_ids":[{}],"finish_reason":"length"}}]}})",
                    Json(text).dump(), fmt::join(ids, ","));
    EchoServer server([&](const EchoRequest&) {
      return EchoAnswer{.pieces = {{.bytes = "data: " + event + "\n\ndata: [DONE]\n\n"}}};
    });
    LoadOptions options = options_for(server);
    options.form = PromptForm::kText;
    options.tokenizer = tokenizer;
    const RequestEntry entry = run_even(options, {.model = "echo"}, 1, 0).log.requests.at(0);
    EXPECT_EQ(entry.outcome, Outcome::kServed) << entry.reason;
    EXPECT_EQ(entry.token_s.size(), 3u);
    return entry.tokens;
  };
  EXPECT_EQ(kept("The blue door"), ids);
  EXPECT_EQ(kept(" The blue door\uFFFD"), ids);
  EXPECT_TRUE(kept("The blue doors").empty());
  EXPECT_TRUE(kept("").empty());
}

TEST(LoadClient, AsksForTheModelAndWhatTheServerKnows) {
  const serving::SteadyClock clock;
  EchoServer server(all_tokens(0, 0));
  const ServerFacts facts = ask_server(options_for(server), {1}, clock, /*stop=*/false);
  EXPECT_EQ(facts.model, "echo");
  EXPECT_TRUE(facts.takes_extensions);
  EXPECT_TRUE(facts.tells_cached_tokens);

  const auto refusing = [](const std::string& refused) {
    return serving_model([refused](const EchoRequest& request) {
      if (request.body.find(refused) != std::string::npos)
        return EchoAnswer{.status = 400, .pieces = {{.bytes = R"({"error":"unknown field"})"}}};
      return request.body.find("include_usage") == std::string::npos
                 ? completion(max_tokens_of(request), 0, 0, Telling::kNothing)
                 : completion(max_tokens_of(request), 0, 0, Telling::kUsageAtEnd, 1, 1, 0);
    });
  };
  EchoServer strict(refusing("ignore_eos"));
  const ServerFacts usage_alone = ask_server(options_for(strict), {1}, clock, /*stop=*/false);
  EXPECT_FALSE(usage_alone.takes_extensions);
  EXPECT_TRUE(usage_alone.takes_usage && usage_alone.tells_cached_tokens);

  EchoServer stricter(refusing("stream_options"));
  const ServerFacts plain = ask_server(options_for(stricter), {1}, clock, /*stop=*/false);
  EXPECT_FALSE(plain.takes_extensions || plain.takes_usage);
  EXPECT_FALSE(plain.tells_cached_tokens);
}

// The client cannot read a compressed answer.
TEST(LoadClient, AsksForAnswersThatAreNotCompressed) {
  const serving::SteadyClock clock;
  EchoServer server([](const EchoRequest& request) {
    EXPECT_EQ(request.accept_encoding, "identity") << request.method << " " << request.path;
    return request.method == "GET" ? model_list() : completion(max_tokens_of(request), 0, 0);
  });
  (void)ask_server(options_for(server), {1}, clock, /*stop=*/false);
}

// A gateway that passes on completions alone answers the request for its models in many ways.
TEST(LoadClient, ANamedModelNeedsNoListOfModels) {
  const serving::SteadyClock clock;
  for (const int status : {403, 404, 405, 501}) {
    EchoServer server([&](const EchoRequest& request) {
      return request.path == "/v1/models" ? EchoAnswer{.status = status} : completion(1, 0, 0);
    });
    LoadOptions options = options_for(server);
    EXPECT_NE(message([&] {
                (void)ask_server(options, {1}, clock, /*stop=*/false);
              }).find("ame one with --model"),
              std::string::npos)
        << status;
    options.model = "m";
    EXPECT_EQ(ask_server(options, {1}, clock, /*stop=*/false).model, "m") << status;
  }
}

TEST(LoadClient, AServerThatCannotBeUsedIsAnErrorThatNamesItAndTheRemedy) {
  const serving::SteadyClock clock;
  const auto refusal = [&](const EchoServer::Script& script, LoadOptions options = {}) {
    EchoServer server(script);
    options.place.url = server.url();
    std::string text = message([&] { (void)ask_server(options, {1}, clock, /*stop=*/false); });
    EXPECT_NE(text.find(server.url()), std::string::npos) << text;
    return text;
  };
  const auto says = [](int status, const char* body) {
    return [=](const EchoRequest&) {
      return EchoAnswer{.status = status, .pieces = {{.bytes = body}}};
    };
  };
  EXPECT_NE(refusal(says(401, R"({"error":{"message":"no key"}})"))
                .find("no key. It wants another "
                      "--api-key"),
            std::string::npos);
  EXPECT_NE(refusal(says(403, "no key"), {.model = "m"})
                .find("status 403: no key. It wants another --api-key."),
            std::string::npos);
  EXPECT_NE(refusal(says(500, "oops")).find("status 500: oops"), std::string::npos);
  EXPECT_NE(refusal(says(404, "")).find("--model"), std::string::npos);
  for (const char* list : {"<html>", R"({"data":5})", R"({"data":[]})"})
    EXPECT_NE(
        refusal(says(200, list))
            .find(fmt::format("/v1/models lists no model (\"{}\"). Name one with --model.", list)),
        std::string::npos);
  EXPECT_NE(refusal(says(404, "not here"), {.model = "m"}).find("status 404: not here"),
            std::string::npos);
  EXPECT_NE(refusal(says(200, "<html>"), {.model = "m"}).find("without any"), std::string::npos);
  EXPECT_NE(refusal(serving_model(says(400, R"({"error":{"message":"prompt must be a string"}})")))
                .find("prompt must be a string. A server that takes no token ids gets text by "
                      "--text"),
            std::string::npos);
  EXPECT_NE(refusal(serving_model(says(200, "data: [DONE]\n\n"))).find("without any"),
            std::string::npos);
  int port = 0;
  {
    const EchoServer gone(all_tokens(0, 0));
    port = gone.port();
  }
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  const std::string nobody =
      message([&] { (void)ask_server({.place = {.url = url}}, {1}, clock, /*stop=*/false); });
  EXPECT_NE(nobody.find(url), std::string::npos);
  EXPECT_NE(nobody.find("Is a server running there?"), std::string::npos);
}

TEST(LoadClient, ARunHasTheTimesTheServerWroteAt) {
  EchoServer server(all_tokens(0.03, 0.01));
  const serving::RunResult result = run_even(options_for(server), {.model = "echo"}, 20, 0.005);
  ASSERT_EQ(result.log.requests.size(), 20u);
  EXPECT_TRUE(result.verdict.is_valid());
  EXPECT_FALSE(result.was_flushed);
  for (const RequestEntry& entry : result.log.requests) {
    EXPECT_EQ(entry.outcome, Outcome::kServed) << entry.reason;
    EXPECT_EQ(entry.tokens, (std::vector<int32_t>{0, 1, 2}));
    EXPECT_EQ(entry.cached_tokens, 4);
    // The server's sleeps are lower bounds; how much longer it takes is the machine's affair.
    EXPECT_GE(entry.token_s[0] - entry.sent_s, 0.03);
    EXPECT_GE(entry.token_s[2] - entry.sent_s, 0.05);
  }
}

// A server without a queue: each request has its first token at once, and its last one after the
// last arrival.
TEST(LoadClient, RequestsThatGenerateAreNoQueue) {
  EchoServer server(all_tokens(0, 0.1));
  const serving::RunResult result =
      run_even(options_for(server), {.model = "echo"}, 24, 0.005,
               {.growth = {.window_arrivals = 5, .windows = 3, .least_backlog = 10}});
  EXPECT_EQ(result.stop_reason, "");
  EXPECT_EQ(result.log.requests.size(), 24u);
}

TEST(LoadClient, AClosedLoopKeepsItsConnections) {
  EchoServer server(all_tokens(0.002, 0));
  const serving::RunResult result = run_closed(options_for(server), 40, 3);
  EXPECT_TRUE(result.verdict.is_valid());
  EXPECT_LE(server.connections(), 3);
  EXPECT_EQ(server.requests(), 40);
}

// The server closes a connection just when a request is sent on it. The request is sent again,
// once.
TEST(LoadClient, AKeptConnectionThatHasEndedIsMadeAnew) {
  std::atomic<int> hung_up = 0;
  EchoServer server(serving_model([&](const EchoRequest& request) {
    if (request.number % 5 != 3) return completion(3, 0, 0);
    ++hung_up;
    return EchoAnswer{.hangs_up = true};
  }));
  const serving::RunResult result = run_closed(options_for(server), 12, 1);
  EXPECT_TRUE(result.verdict.is_valid());
  EXPECT_GE(hung_up, 2);
  EXPECT_EQ(server.requests(), 12 + hung_up);
}

TEST(LoadClient, RequestsBeyondTheConnectionsWaitAndAreSentLate) {
  EchoServer server(all_tokens(0.02, 0));
  LoadOptions options = options_for(server);
  options.most_connections = 2;
  const serving::RunResult result = run_even(options, {.model = "echo"}, 6, 0);
  EXPECT_EQ(server.connections(), 2);
  EXPECT_GE(result.log.requests[5].sent_s - result.log.requests[5].intended_s, 0.04);
  EXPECT_GE(serving::latency_of(result.log.requests[5]).ttft_s, 0.06);
}

TEST(LoadClient, WhateverGoesWrongIsTheReasonOfItsRequestAlone) {
  const std::map<int64_t, std::pair<EchoAnswer, std::string>> wrong = {
      {1,
       {{.status = 503, .pieces = {{.bytes = R"({"error":{"message":"full"}})"}}},
        "status 503: full"}},
      {2, {{.pieces = {{.bytes = "data: {\"choi\n\n"}}}, "an event that is no JSON"}},
      {3, {completion(2, 0, 0), "ended before its last token (finish_reason \"length\")"}},
      {4, {completion(5, 0, 0), "more tokens than were asked for"}},
      {5,
       {{.pieces = {{.bytes = completion(3, 0, 0).pieces[0].bytes}}, .breaks_off = true},
        "the server closed the connection"}},
      {6, {{.breaks_off = true}, "the server closed the connection"}},
      {7, {{.pieces = {{.after_s = 1.5, .bytes = "data: [DONE]\n\n"}}}, "silent for 0.3 s"}},
      {8, {{.pieces = {{.bytes = "data: {\"error\":{\"message\":\"NaN\"}}\n\n"}}}, "NaN"}},
      {9,
       {{.pieces = {{.bytes = "data: {\"choi"}}, .breaks_off = true},
        "the server closed the connection"}}};
  EchoServer server(serving_model([&](const EchoRequest& request) {
    const Json prompt = Json::parse(request.body)["prompt"];
    const auto found = wrong.find(prompt.back().get<int64_t>() - 100);  // EvenSource's index
    return found == wrong.end() ? completion(3, 0, 0) : found->second.first;
  }));
  LoadOptions options = options_for(server);
  options.place.silence_timeout_s = 0.3;
  const serving::RunResult result = run_even(options, {.model = "echo"}, 12, 0.001);
  for (const RequestEntry& entry : result.log.requests) {
    const auto found = wrong.find(entry.index);
    EXPECT_EQ(entry.outcome, found == wrong.end() ? Outcome::kServed : Outcome::kFailed)
        << entry.index;
    EXPECT_EQ(entry.reason, found == wrong.end() ? "" : found->second.second) << entry.index;
  }
  EXPECT_FALSE(result.verdict.is_valid());
  EXPECT_NE(result.verdict.reasons.front().find("9 of 12 requests were not served, 3 of them: the "
                                                "server closed"),
            std::string::npos)
      << result.verdict.reasons.front();
}

TEST(LoadClient, ARequestThatNeverEndsIsGivenUp) {
  EchoServer server(serving_model([](const EchoRequest&) { return completion(1000, 0, 0.01); }));
  LoadOptions options = options_for(server);
  options.place.request_timeout_s = 0.1;
  const serving::RunResult result = run_even(options, {.model = "echo"}, 1, 0);
  EXPECT_EQ(result.log.requests[0].reason, "no end within 0.1 s");
}

// A request must end within the allowed time, even if its last bytes come later and are complete.
TEST(LoadClient, AnEndThatComesTooLateIsNone) {
  EchoServer server(serving_model([](const EchoRequest& request) {
    std::string all;
    for (const EchoPiece& piece : completion(3, 0, 0).pieces) all += piece.bytes;
    if (request.number == 0) return EchoAnswer{.pieces = {{.after_s = 0.5, .bytes = all}}};
    const size_t half = all.find("\n\n") + 2;
    return EchoAnswer{.pieces = {{.after_s = 0.06, .bytes = all.substr(0, half)},
                                 {.after_s = 0.06, .bytes = all.substr(half)}}};
  }));
  LoadOptions options = options_for(server);
  options.place.request_timeout_s = 0.1;
  const serving::RunResult result = run_closed(options, 2, 1);
  for (const RequestEntry& entry : result.log.requests) {
    EXPECT_EQ(entry.outcome, Outcome::kFailed);
    EXPECT_EQ(entry.reason, "no end within 0.1 s");
  }
}

TEST(LoadClient, AnInterruptEndsWhatIsUnderWayAtOnce) {
  EchoServer server(serving_model([](const EchoRequest&) { return completion(3, 30, 0); }));
  std::atomic<bool> stop = false;
  std::thread user([&] {
    while (server.requests() < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop = true;
  });
  const auto begin = std::chrono::steady_clock::now();
  LoadOptions options = options_for(server);
  options.place.silence_timeout_s = 60;
  EXPECT_THROW((void)run_even(options, {.model = "echo"}, 3, 0, {.stop = &stop}), Interrupted);
  user.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(LoadClient, AnInterruptEndsTheQuestionsBeforeARun) {
  const serving::SteadyClock clock;
  for (const char* path : {"/v1/models", "/v1/completions", "/version"}) {
    std::atomic<bool> stop = false;
    EchoServer server([&](const EchoRequest& request) {
      if (request.path == path) {
        stop = true;
        return EchoAnswer{.pieces = {{.after_s = 30, .bytes = "{}"}}};
      }
      return request.path == "/v1/models" ? model_list() : completion(1, 0, 0);
    });
    LoadOptions options = options_for(server);
    options.place.silence_timeout_s = 60;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THROW((void)ask_server(options, {1}, clock, stop), Interrupted) << path;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << path;
  }
}

TEST(LoadClient, PrefixesAreComputedBeforeTheFirstRequest) {
  std::atomic<int64_t> of_one_token = 0;
  EchoServer server(serving_model([&](const EchoRequest& request) {
    of_one_token += max_tokens_of(request) == 1;
    return completion(max_tokens_of(request), 0.01, 0);
  }));
  const serving::RunResult result =
      run_even(options_for(server), {.model = "echo"}, 4, 0, {.primes = true});
  EXPECT_EQ(of_one_token, 1);
  EXPECT_GE(result.prime_s, 0.01);

  EchoServer refusing(serving_model([](const EchoRequest& request) {
    return max_tokens_of(request) == 1 ? EchoAnswer{.status = 413} : completion(3, 0, 0);
  }));
  EXPECT_NE(message([&] {
              (void)run_even(options_for(refusing), {.model = "echo"}, 4, 0, {.primes = true});
            }).find("a prefix could not be computed: status 413"),
            std::string::npos);
}

TEST(LoadClient, TheKeyIsSentAndTheUrlMayHaveAPath) {
  std::atomic<int64_t> with_key = 0;
  EchoServer server([&](const EchoRequest& request) {
    with_key += request.authorization == "Bearer secret" && request.path.starts_with("/llm/v1/");
    return request.path == "/llm/v1/models" ? model_list() : completion(1, 0, 0);
  });
  const serving::SteadyClock clock;
  LoadOptions options = options_for(server);
  options.place.url += "/llm";
  options.place.api_key = "secret";
  EXPECT_EQ(ask_server(options, {1}, clock, /*stop=*/false).model, "echo");
  EXPECT_EQ(with_key, 2);
}

}  // namespace
}  // namespace reprise::server
