// Runs `reprise serve` as a user does: it starts, is told to end while under load, and starts
// again.
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <optional>
#include <sstream>
#include <thread>

#include "tests/app/command_line.h"
#include "tests/core/sentence/sentence_testing.h"
#include "tests/server/raw_client.h"
#include "tests/support/environment.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

using server::RawAnswer;
using server::RawClient;
using std::chrono::milliseconds;

class ServeCommand : public CommandLine {
 protected:
  // A server with the shipped model or another one. The constructor waits until the server prints
  // its address. `limit` is a shell command that is run before, such as "ulimit -n 100".
  class Running {
   public:
    Running(const std::filesystem::path& dir, std::vector<std::string> more,
            const std::string& limit = "", const std::string& model = "quickstart")
        : process_(words(std::move(more), limit, model), dir) {
      for (int i = 0; i < 600 && port_ == 0; ++i) {
        std::this_thread::sleep_for(milliseconds(50));
        const std::string out = process_.out();
        const size_t end = out.find("/v1\n");
        if (end != out.npos) port_ = std::stoi(out.substr(out.rfind(':', end) + 1));
      }
      EXPECT_GT(port_, 0) << process_.err();
    }
    [[nodiscard]] int port() const { return port_; }
    int end(int signal) {
      process_.send(signal);
      return process_.wait();
    }
    [[nodiscard]] std::string out() const { return process_.out(); }
    [[nodiscard]] std::string err() const { return process_.err(); }

    static std::vector<std::string> words(std::vector<std::string> more, const std::string& limit,
                                          const std::string& model = "quickstart") {
      std::vector<std::string> all = {REPRISE_PROGRAM, "serve", "--model", model,
                                      "--port",        "0",     "--dtype", "f32"};
      if (!limit.empty())
        all.insert(all.begin(), {"/bin/sh", "-c", limit + R"( && exec "$@")", "sh"});
      all.insert(all.end(), more.begin(), more.end());
      return all;
    }

   private:
    Subprocess process_;
    int port_ = 0;
  };

  std::optional<double> preemptions_;  // read from the metrics of the last server

  static Json greedy(int tokens, bool is_stream) {
    return {{"prompt", "Once upon"},
            {"max_tokens", tokens},
            {"temperature", 0},
            {"ignore_eos", true},
            {"stream", is_stream}};
  }

  // The number of tokens that a server with the options `more` finds in its cache if a prompt of
  // 200 tokens comes a second time.
  int64_t cached_tokens(const std::vector<std::string>& more,
                        const std::string& model = "quickstart") const {
    std::filesystem::create_directories(dir_ / "server");
    Running running(dir_ / "server", more, "", model);
    Json body = greedy(2, false);
    body["prompt"] = std::vector<int>(200, 5);
    Json answer;
    for (int i = 0; i < 2; ++i)
      answer = server::post(running.port(), "/v1/completions", body).json();
    EXPECT_EQ(running.end(SIGTERM), 0);
    return answer["usage"]["prompt_tokens_details"]["cached_tokens"].get<int64_t>();
  }
};

TEST_F(ServeCommand, SaysWhoCanReachItWithoutAKey) {
  const char* note = "everyone who can reach 0.0.0.0 may use this server";
  Running open(dir_, {"--host", "0.0.0.0"});
  EXPECT_NE(open.err().find(note), std::string::npos) << open.err();
  Running guarded(dir_, {"--host", "0.0.0.0", "--api-key", "secret"});
  EXPECT_EQ(guarded.err().find(note), std::string::npos);
  Running local(dir_, {});
  EXPECT_EQ(local.err().find("everyone"), std::string::npos);
}

TEST_F(ServeCommand, AnAddressOfIpv6StandsInBracketsInItsUrl) {
  if (!std::filesystem::exists("/proc/net/if_inet6") ||
      read_file("/proc/net/if_inet6").find("00000000000000000000000000000001") == std::string::npos)
    GTEST_SKIP() << "this machine has no ::1";
  Running running(dir_, {"--host", "::1"});
  EXPECT_NE(running.out().find(fmt::format("http://[::1]:{}/v1\n", running.port())),
            std::string::npos)
      << running.out();
}

TEST_F(ServeCommand, ANoteWhoseReaderHasLeftEndsNoServer) {
  const std::string pipe = (dir_ / "pipe").string();
  Running running(dir_, {}, fmt::format("mkfifo {0}; (true < {0}) & exec 2> {0}; wait", pipe));
  Json body = greedy(2, false);
  body["no_such_field"] = 1;
  EXPECT_EQ(server::post(running.port(), "/v1/completions", body).status, 200);
  EXPECT_EQ(running.end(SIGTERM), 0);
}

TEST_F(ServeCommand, GeneratesWhatGenerateDoes) {
  const std::string wanted =
      reprise({"generate", "--model", "quickstart", "--dtype", "f32", "--prompt", "Once upon",
               "--max-new-tokens", "24", "--ignore-eos"})
          .out;
  std::filesystem::create_directories(dir_ / "server");
  Running running(dir_ / "server", {"--method", "relay_attention", "--served-model-name", "mine"});
  const RawAnswer answer = server::post(running.port(), "/v1/completions", greedy(24, false));
  ASSERT_EQ(answer.status, 200) << answer.body;
  std::string text = answer.json()["choices"][0]["text"];
  if (text.starts_with(' '))
    text.erase(0, 1);  // the space between prompt and answer, which generate leaves out
  EXPECT_EQ(text + "\n", wanted);
  EXPECT_EQ(answer.json()["model"], "mine");
  EXPECT_EQ(running.end(SIGTERM), 0);
  EXPECT_NE(running.err().find("no chats"), std::string::npos) << running.err();
}

// A prompt in the schema's markup imports its modules; other prompts are plain.
TEST_F(ServeCommand, PromptsImportModulesOfASchema) {
  const std::string pml = std::string(REPRISE_SOURCE_DIR) + "/experiments/prompt_cache/pml/travel";
  const std::string wanted =
      reprise({"generate", "--model", "quickstart", "--dtype", "f32", "--method", "prompt_cache",
               "--schema", pml + ".schema.xml", "--prompt-file", pml + ".prompt.xml",
               "--max-new-tokens", "12", "--ignore-eos"})
          .out;
  std::filesystem::create_directories(dir_ / "server");
  Running running(dir_ / "server", {"--method", "prompt_cache", "--method-options",
                                    R"({"cache": "paged"})", "--schema", pml + ".schema.xml"});
  Json body = greedy(12, false);
  const auto posted = [&](const Json& prompt) {
    body["prompt"] = prompt;
    return server::post(running.port(), "/v1/completions", body);
  };
  const std::string markup = read_file(pml + ".prompt.xml");
  const Json both = posted({markup, markup}).json();
  for (const Json& choice : both["choices"]) {
    std::string text = choice["text"];
    if (text.starts_with(' ')) text.erase(0, 1);
    EXPECT_EQ(text + "\n", wanted);
  }
  EXPECT_EQ(both["usage"]["prompt_tokens"], 2 * 289);
  EXPECT_EQ(both["usage"]["prompt_tokens_details"]["cached_tokens"], 2 * 247);
  body["echo"] = true;
  const std::string echoed = posted(markup).json()["choices"][0]["text"];
  EXPECT_TRUE(echoed.ends_with(wanted.substr(0, wanted.size() - 1))) << echoed;
  EXPECT_GT(echoed.size(), wanted.size() + 289);
  EXPECT_EQ(echoed.find("<prompt"), std::string::npos) << echoed;
  body["logprobs"] = 0;
  EXPECT_EQ(posted(markup).status, 400);
  body.erase("echo");
  body.erase("logprobs");
  const Json plain = posted("Once upon").json();
  EXPECT_EQ(plain["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  const RawAnswer wrong = posted("<prompt schema=\"travel\"><mars/>x</prompt>");
  EXPECT_EQ(wrong.status, 400) << wrong.body;
  EXPECT_NE(wrong.body.find("mars"), std::string::npos) << wrong.body;
  EXPECT_EQ(running.end(SIGTERM), 0);
}

// A client whose request can never fit is not told to try again.
TEST_F(ServeCommand, MoreChoicesThanRequestsAreRefusedForGood) {
  Running running(dir_, {"--max-requests", "8"});
  Json body = greedy(2, false);
  body["n"] = 9;
  const RawAnswer refused = server::post(running.port(), "/v1/completions", body);
  EXPECT_EQ(refused.status, 400) << refused.body;
  EXPECT_NE(refused.error().find("n is 9: at most 8"), std::string::npos) << refused.error();
  body["n"] = 8;
  EXPECT_EQ(server::post(running.port(), "/v1/completions", body).status, 200);
}

TEST_F(ServeCommand, APrefixOfAFileIsComputedOnce) {
  const std::string prefix(300, 'a');
  std::ofstream(dir_ / "prefix") << prefix;
  // Neither the byte order mark nor the line break is in the message.
  std::ofstream(dir_ / "system") << "\xEF\xBB\xBF" << prefix << "\r\n";
  std::filesystem::create_directories(dir_ / "server");
  Running running(dir_ / "server", {"--method", "relay_attention", "--prefix-file",
                                    (dir_ / "prefix").string(), "--system-prompt-file",
                                    (dir_ / "system").string(), "--chat-template", "zephyr"});
  const auto cached = [&](const std::string& path, const Json& body) {
    return server::post(running.port(), path, body)
        .json()["usage"]["prompt_tokens_details"]["cached_tokens"]
        .get<int64_t>();
  };
  EXPECT_GT(cached("/v1/completions", {{"prompt", prefix + " and more"}, {"max_tokens", 2}}), 20);
  const Json messages = Json::array({Json{{"role", "system"}, {"content", prefix}},
                                     Json{{"role", "user"}, {"content", "Hello"}}});
  EXPECT_GT(cached("/v1/chat/completions", {{"messages", messages}, {"max_tokens", 2}}), 20);
  EXPECT_NE(running.err().find("of keys and values kept"), std::string::npos) << running.err();
  EXPECT_EQ(running.end(SIGINT), 0);
  std::filesystem::create_directories(dir_ / "importing");
  Running importing(dir_ / "importing",
                    {"--method", "prompt_cache", "--prefix-file", (dir_ / "prefix").string()});
  EXPECT_NE(importing.err().find("imported by requests"), std::string::npos) << importing.err();
  std::filesystem::create_directories(dir_ / "forgetting");
  Running forgetting(dir_ / "forgetting",
                     {"--method", "contiguous", "--prefix-file", (dir_ / "prefix").string()});
  EXPECT_NE(forgetting.err().find("the method keeps no declared prefix"), std::string::npos)
      << forgetting.err();
}

// The cache has room for two of three long answers, so the states of one are moved to disk. The
// answers must not change.
TEST_F(ServeCommand, PreemptedAnswersAreTheSame) {
  const auto texts = [&](const std::vector<std::string>& more) {
    std::filesystem::create_directories(dir_ / "server");
    Running running(dir_ / "server", more);
    std::vector<std::future<std::string>> answers;
    for (int i = 0; i < 3; ++i)
      answers.push_back(std::async(std::launch::async, [&, i] {
        Json body = greedy(400, false);
        body["prompt"] = std::string(1, static_cast<char>('A' + i)) + " cat sat";
        return server::post(running.port(), "/v1/completions", body)
            .json()["choices"][0]["text"]
            .get<std::string>();
      }));
    std::vector<std::string> all;
    for (auto& answer : answers) all.push_back(answer.get());
    const server::RawAnswer answer = server::get(running.port(), "/metrics");
    preemptions_.reset();
    if (answer.status != 501) {  // this build has prometheus-cpp
      const std::string& metrics = answer.body;
      const size_t at = metrics.find("\nreprise_preemptions_total ");
      preemptions_ = std::stod(metrics.substr(at + std::strlen("\nreprise_preemptions_total ")));
    }
    EXPECT_EQ(running.end(SIGTERM), 0);
    return all;
  };
  const std::vector<std::string> wanted = texts({"--max-tokens", "512"});
  EXPECT_EQ(preemptions_.value_or(0), 0);
  for (const char* preemption : {"recompute", "swap_host", "swap_disk"}) {
    EXPECT_EQ(texts({"--max-tokens", "512", "--kv-budget", "5MB", "--preemption", preemption}),
              wanted);
    EXPECT_GT(preemptions_.value_or(1), 0) << preemption;
  }
}

// Every client must get either a whole answer or an error with the reason. Afterwards a new server
// must serve.
TEST_F(ServeCommand, ARestartUnderLoadLosesWithAReason) {
  std::filesystem::create_directories(dir_ / "server");
  auto running = std::make_unique<Running>(
      dir_ / "server", std::vector<std::string>{"--grace", "0", "--max-tokens", "1024"});
  std::atomic<int> whole = 0, told = 0, refused = 0, lost = 0;
  std::atomic<bool> ends = false;
  std::vector<std::thread> clients;
  for (int i = 0; i < 16; ++i)
    clients.emplace_back([&, i, port = running->port()] {
      while (!ends) {
        RawClient client(port);
        if (!client.is_open() ||
            !client.send(server::post_text("/v1/completions", greedy(200, i % 2 == 0).dump()))) {
          ++refused;
          return;
        }
        const RawAnswer answer = client.answer();
        if (answer.body.ends_with("data: [DONE]\n\n") ||
            (answer.status == 200 && answer.body.find("\"usage\"") != std::string::npos &&
             i % 2 != 0))
          ++whole;
        else if (answer.body.find("shutting down") != std::string::npos)
          ++told;
        else
          ++lost;
      }
    });
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_EQ(running->end(SIGTERM), 0) << running->err();
  ends = true;
  for (std::thread& client : clients) client.join();
  std::printf("%d whole, %d told, %d refused by the system, %d without a word\n", whole.load(),
              told.load(), refused.load(), lost.load());
  EXPECT_GT(whole + told, 0);
  EXPECT_GT(told, 0);
  // The system may have accepted connections that the server never saw.
  EXPECT_LE(lost, 16);
  running = std::make_unique<Running>(dir_ / "server", std::vector<std::string>{});
  EXPECT_EQ(server::post(running->port(), "/v1/completions", greedy(4, false)).status, 200);
  EXPECT_EQ(running->end(SIGTERM), 0);
}

// A server and `reprise embed` must give the same vectors for the same texts, in one step of the
// model.
TEST_F(ServeCommand, EmbedsAsEmbedDoes) {
  const model::TempDir bert;
  sentence::write_sentence_model(bert);
  std::filesystem::create_directories(dir_ / "server");
  const std::vector<std::string> texts = {"a b c", "h", "g f e d c b a"};
  const auto expect_equal = [&](const std::string& model, std::vector<std::string> more,
                                const std::vector<std::string>& of_server) {
    std::vector<std::string> words = {"embed", "--model", model, "--dtype", "f32"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome embed = reprise(words, fmt::format("{}\n", fmt::join(texts, "\n")));
    ASSERT_EQ(embed.status, 0) << embed.err;
    more.insert(more.end(), of_server.begin(), of_server.end());
    Running running(dir_ / "server", more, "", model);
    const RawAnswer answer = server::post(running.port(), "/v1/embeddings", {{"input", texts}});
    ASSERT_EQ(answer.status, 200) << answer.body;
    std::istringstream lines(embed.out);
    for (const Json& data : answer.json()["data"]) {
      std::string line;
      std::getline(lines, line);
      EXPECT_EQ(data["embedding"].get<std::vector<float>>(),
                Json::parse(line).get<std::vector<float>>());
    }
    EXPECT_EQ(answer.json()["data"].size(), texts.size());
    EXPECT_EQ(running.end(SIGTERM), 0);
  };
  expect_equal(bert.path(), {"--random-weights"}, {});
  expect_equal(bert.path(), {"--random-weights", "--pooling", "cls", "--no-normalize"}, {});
  expect_equal("quickstart", {}, {"--embeddings"});
}

TEST_F(ServeCommand, AModelServesTextsOrVectors) {
  std::filesystem::create_directories(dir_ / "server");
  const auto refusal = [](int port, const std::string& path, const Json& body) {
    const RawAnswer answer = server::post(port, path, body);
    EXPECT_EQ(answer.status, 404) << answer.body;
    return answer.error();
  };
  {
    Running running(dir_ / "server", {});
    EXPECT_NE(refusal(running.port(), "/v1/embeddings", {{"input", "a"}}).find("--embeddings"),
              std::string::npos);
    EXPECT_EQ(running.end(SIGTERM), 0);
  }
  std::ofstream(dir_ / "key") << "\xEF\xBB\xBFkey\r\n";  // as some editors write it
  Running running(dir_ / "server", {"--embeddings", "--api-key-file", (dir_ / "key").string(),
                                    "--max-tokens", "16"});
  EXPECT_NE(running.err().find("lasttoken, not normalized; texts of at most 16"), std::string::npos)
      << running.err();
  for (const char* path : {"/v1/completions", "/v1/chat/completions"})
    EXPECT_NE(refusal(running.port(), path, greedy(1, false)).find("/v1/embeddings"),
              std::string::npos);
  const Json body = {{"input", std::vector<int>(17, 5)}};
  EXPECT_EQ(server::post(running.port(), "/v1/embeddings", body).status, 401);
  const RawAnswer refused =
      server::post(running.port(), "/v1/embeddings", body, "Authorization: Bearer key\r\n");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.error(),
            "an input has 17 tokens, this server takes 16 tokens (--max-tokens): shorten it");
  EXPECT_EQ(running.end(SIGTERM), 0);
}

TEST_F(ServeCommand, EndsEmbeddingsUnderWayWithAReason) {
  std::filesystem::create_directories(dir_ / "server");
  Running running(dir_ / "server", {"--embeddings", "--grace", "0"});
  // A million tokens.
  const Json body = {{"input", std::vector(1000, std::vector<int>(1000, 5))}};
  std::future<RawAnswer> answer = std::async(
      std::launch::async, [&] { return server::post(running.port(), "/v1/embeddings", body); });
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_EQ(running.end(SIGTERM), 0) << running.err();
  const RawAnswer found = answer.get();
  EXPECT_EQ(found.status, 503) << found.body.substr(0, 300);
  EXPECT_NE(found.body.find("shutting down"), std::string::npos) << found.body.substr(0, 300);
}

TEST_F(ServeCommand, OnlyWhoChoosesNoMethodGetsPromptsKept) {
  EXPECT_GT(cached_tokens({}), 0);
  EXPECT_EQ(cached_tokens({"--method", "auto"}), 0);
  EXPECT_EQ(cached_tokens({"--method-options", "{}"}), 0);
}

// Makes a folder below `dir` with the quickstart model and dynamic rotary scaling by 4, as if it
// had been trained for `positions` positions. Returns the folder.
std::string model_with_dynamic_scaling(const std::filesystem::path& dir, int positions) {
  const std::filesystem::path shipped = REPRISE_SOURCE_DIR "/models/quickstart";
  const std::filesystem::path folder = dir / "dynamic";
  std::filesystem::create_directories(folder);
  Json config = Json::parse(read_file(shipped / "config.json"));
  config["max_position_embeddings"] = positions;
  config["rope_scaling"] = {{"type", "dynamic"}, {"factor", 4.0}};
  std::ofstream(folder / "config.json") << config.dump();
  for (const char* name : {"model.safetensors", "tokenizer.model"})
    std::filesystem::create_symlink(shipped / name, folder / name);
  return folder.string();
}

TEST_F(ServeCommand, PromptsOfModelsWithDynamicScalingAreKeptUpToTheTrainedLength) {
  const std::string model = model_with_dynamic_scaling(dir_, 256);
  EXPECT_GT(cached_tokens({"--max-tokens", "256"}, model), 0);
  EXPECT_EQ(cached_tokens({}, model), 0);
  const Running chosen(dir_, {"--method", "auto"}, "", model);
  EXPECT_NE(chosen.err().find("answers depend on the other prompts"), std::string::npos)
      << chosen.err();
}

// Two prompts of a batch begin alike, but their lengths turn their keys by other angles.
TEST_F(ServeCommand, PromptsShareNothingByDefaultIfKeysDependOnTheLength) {
  const std::string model = model_with_dynamic_scaling(dir_, 64);
  std::vector<int> longer(170);
  for (size_t i = 0; i < longer.size(); ++i) longer[i] = 3 + static_cast<int>(37 * i % 2000);
  std::vector<int> shorter(longer.begin(), longer.begin() + 70);
  shorter.resize(75, 9);
  std::filesystem::create_directories(dir_ / "server");
  Running running(dir_ / "server", {}, "", model);
  const auto logprobs_of_last = [&](const std::vector<std::vector<int>>& prompts) {
    Json body = greedy(8, false);
    body["prompt"] = prompts;
    body["logprobs"] = 0;
    const RawAnswer answer = server::post(running.port(), "/v1/completions", body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json()["choices"].back()["logprobs"]["token_logprobs"].get<std::vector<double>>();
  };
  const std::vector<double> together = logprobs_of_last({shorter, longer});
  const std::vector<double> alone = logprobs_of_last({longer});
  ASSERT_EQ(together.size(), alone.size());
  for (size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(together[i], alone[i], 1e-3) << i;
  EXPECT_EQ(running.end(SIGTERM), 0);
}

TEST_F(ServeCommand, DescriptorsAreThereForAllConnections) {
  std::filesystem::create_directories(dir_ / "server");
  Running running(dir_ / "server", {"--max-connections", "120"}, "ulimit -S -n 64");
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 120; ++i) {
    clients.push_back(std::make_unique<RawClient>(running.port()));
    clients.back()->send(server::get_text("/health"));
    ASSERT_EQ(clients.back()->answer().status, 200) << i;
  }
  clients.back()->send(server::post_text("/v1/completions", greedy(2, false).dump()));
  EXPECT_EQ(clients.back()->answer().status, 200);
  EXPECT_EQ(running.err().find("--max-connections"), std::string::npos) << running.err();
  EXPECT_EQ(running.end(SIGTERM), 0);
}

TEST_F(ServeCommand, WhereDescriptorsAreFewConnectionsAreFewer) {
  std::filesystem::create_directories(dir_ / "server");
  Running running(dir_ / "server", {"--max-connections", "120"}, "ulimit -n 100");
  EXPECT_NE(running.err().find("--max-connections 120"), std::string::npos) << running.err();
  EXPECT_NE(running.err().find("18 connections"), std::string::npos) << running.err();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 19; ++i) {
    clients.push_back(std::make_unique<RawClient>(running.port()));
    clients.back()->send(server::get_text("/health"));
    EXPECT_EQ(clients.back()->answer().status, i < 18 ? 200 : 503) << i;
  }
  EXPECT_EQ(running.end(SIGTERM), 0);
  Subprocess refused(Running::words({}, "ulimit -n 65"), dir_);
  EXPECT_EQ(refused.wait(), 1);
  EXPECT_NE(refused.err().find("ulimit"), std::string::npos) << refused.err();
}

TEST_F(ServeCommand, WhatMakesNoSenseIsRefused) {
  expect_refused({"serve", "--model", "quickstart", "--port", "70000"}, {"70000", "0 to 65535"});
  expect_refused({"serve", "--model", "quickstart", "--chat-template", "llama2"},
                 {"unknown chat template \"llama2\"", "did you mean \"llama-2\""});
  expect_refused({"serve", "--model", "quickstart", "--api-key", "a", "--api-key-file", "b"},
                 {"one of --api-key and --api-key-file"});
  expect_refused({"serve", "--model", "quickstart", "--prefix-file", "/dev/null"},
                 {"--prefix-file /dev/null is empty"});
  expect_refused({"serve", "--model", "quickstart", "--host", "no.such.host.invalid"},
                 {"no.such.host.invalid"});
  expect_refused({"serve", "--model", "quickstart", "--scheduler", "first_came"},
                 {"did you mean \"first_come\""});
  expect_refused({"serve", "--model", "quickstart", "--max-tokens", "5000"},
                 {"--max-tokens", "2048"});
  expect_refused({"serve", "--model", "quickstart", "--system-prompt-file", "/dev/null"},
                 {"--chat-template"});
  expect_refused({"serve", "--model", "quickstart", "--preemption", "swap_hots"},
                 {"did you mean \"swap_host\""});
  expect_refused({"serve", "--model", "quickstart", "--swap-budget", "1GiB"},
                 {"--swap-budget", "--preemption"});
  expect_refused({"serve", "--model", "quickstart", "--preemption", "swap_host", "--swap-dir", "."},
                 {"--swap-dir", "swap_disk"});
  {
    // The folder for temporary files is not used without swap_disk.
    const testing::EnvironmentVariable tmpdir("TMPDIR", (dir_ / "none").string());
    expect_refused({"serve", "--model", "quickstart", "--preemption", "swap_disk"}, {"TMPDIR"});
    expect_refused({"serve", "--model", "quickstart", "--prefix-file", "/dev/null"},
                   {"--prefix-file /dev/null is empty"});
  }
  const std::string file = (dir_ / "file").string();
  std::ofstream(file) << std::string(300, 'a');
  expect_refused(
      {"serve", "--model", "quickstart", "--preemption", "swap_disk", "--swap-dir", file},
      {file, "that you may write to with --swap-dir"});
  expect_refused({"serve", "--model", "quickstart", "--prefix-file", file, "--max-tokens", "16"},
                 {"--prefix-file: the text takes", "--max-tokens 16", "a larger --max-tokens"});
  expect_refused({"serve", "--model", "quickstart", "--kv-budget", "1kB"},
                 {"1000 B for keys and values (--kv-budget)", "2048 tokens (--max-tokens)"});
  expect_refused({"serve", "--model", "quickstart", "--kv-budget", "0"}, {"--kv-budget is 0"});
  expect_refused({"serve", "--model", "quickstart", "--kv-budget", "2 Gb/s"},
                 {"--kv-budget", "no number of bytes"});
  expect_refused({"serve", "--model", "quickstart", "--no-normalize"},
                 {"--normalize", "give --embeddings"});
  expect_refused({"serve", "--model", "quickstart", "--embeddings", "--method", "auto"},
                 {"--method: a server of sentence vectors generates nothing; leave it out"});
  expect_refused({"serve", "--model", "quickstart", "--embeddings", "--max-tokens", "5000"},
                 {"--max-tokens", "2048"});
}

}  // namespace
}  // namespace reprise::app
