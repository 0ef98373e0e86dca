// Tests the records of a server that runs already, which the usual runner makes.
#include "experiments/kinds/serving/load_kind.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include "core/base/error.h"
#include "core/device/cpu.h"
#include "experiments/framework/runner.h"
#include "experiments/serving/metrics.h"
#include "results/folder.h"
#include "tests/experiments/kinds/serving/echo_server.h"
#include "tests/experiments/serving/simulated_server.h"
#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::server {
namespace {

namespace fs = std::filesystem;
namespace serving = experiments::serving;

struct EvenAxes {
  double rate_rps = 100;

  void visit(experiments::AxisVisitor& visitor) {
    visitor.real({"rate_rps", "1/s", "requests per second"}, {1, 1000}, rate_rps);
  }
};

// Plans thirty even requests at the rate of the point. A search has two runs, the first of which
// must be VALID, and returns the second.
class EvenPlans final : public serving::PlansServing {
 public:
  static experiments::KindInfo info() {
    return {.name = "even",
            .summary = "for tests",
            .axes = experiments::list_axes<EvenAxes>(),
            .metrics = serving::serving_metrics(),
            .takes_model = false};
  }
  int64_t count = 30, prompt = 8;
  bool searches = false;
  std::vector<workloads::ServingRequest> warmup;
  std::string refusal;                 // what the check of a group throws; "": nothing
  std::vector<workloads::Salt> salts;  // of all plans

  void check_plan(const experiments::Group& /*group*/) const override {
    if (!refusal.empty()) raise("{}", refusal);
  }
  [[nodiscard]] serving::ServingPlan plan(const experiments::Group& group,
                                          const workloads::Salt& salt) override {
    auto source = std::make_shared<serving::EvenSource>();
    source->count = count;
    source->prompt = prompt;
    salts.push_back(salt);
    const auto axes = group.axes_as<EvenAxes>();
    return {
        .source = source,
        .schedule = workloads::make_schedule("constant", {.rate_rps = axes.rate_rps}, count),
        .options = {.warmup = warmup,
                    .rules = {.least_duration_s = 0.01, .least_requests = 30, .most_late_s = 10}},
        .tokenizer = nullptr};
  }
  [[nodiscard]] std::optional<experiments::Measurement> search(
      const experiments::Group& group, const std::function<workloads::Salt()>& next_salt,
      const std::function<serving::TrialRun(serving::ServingPlan&)>& run,
      const std::atomic<bool>& /*stop*/) override {
    if (!searches) return std::nullopt;
    serving::ServingPlan first = plan(group, next_salt());
    EXPECT_TRUE(run(first).verdict.is_valid());
    serving::ServingPlan second = plan(group, next_salt());
    return run(second).measured;
  }
};

class PresentPoints final : public experiments::RunObserver {
 public:
  void planned(int64_t, int64_t present, int64_t) override { found = present; }
  int64_t found = 0;
};

class LoadKindTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    out_ = fs::temp_directory_path() / fmt::format("reprise_load_{}_{}", ::getpid(), info->name());
    fs::remove_all(out_);
  }
  void TearDown() override { fs::remove_all(out_); }

  experiments::RunOutcome run(const std::string& url, const LoadReuse& reuse = {}) {
    return run(std::vector<NamedServer>{{.label = "echo-1", .url = url}}, reuse);
  }
  experiments::RunOutcome run(const std::vector<NamedServer>& servers, const LoadReuse& reuse = {},
                              int64_t repetitions = 1) {
    const experiments::Vocabulary vocabulary{
        .kinds = {EvenPlans::info()},
        .methods = {{.name = "contiguous",
                     .refusal = [](experiments::MethodUse) { return std::string(); },
                     .resolve_options = [](const JsonObject&) { return Json::object(); }}},
        .workloads = workloads::known_workloads()};
    experiments::Experiment experiment =
        for_servers(experiments::parse_experiment(
                        Json::parse(R"({"name": "even", "title": "Even", "kind": "even",
                            "methods": ["contiguous"], "repetitions": 1, "sweep": {"rate_rps": [200, 400]},
                            "plot": {"x": "rate_rps", "y": "ttft_ms.p50"}})"),
                        "even.json", "desk", {}, vocabulary),
                    servers);
    experiment.repetitions = repetitions;
    experiment.dtypes = dtypes_;
    LoadKind kind(plans_, {.place = {.connect_timeout_s = 1, .silence_timeout_s = 5}},
                  /*primes=*/false, reuse);
    if (writer_ != nullptr) kind.trace_to(*writer_);
    const experiments::RunOptions options{
        .out = out_,
        .settings = {.context = {.threads = 1, .isa = Isa::kPortable}, .device = Device::kCpu},
        .measure_machine = [] { return Machine{.cpu = "made up"}; }};
    return experiments::run_experiment(experiment, experiments::plan(experiment, options.settings),
                                       options, kind, observer_, stop_);
  }

  EvenPlans plans_;
  std::vector<DType> dtypes_ = {DType::kF32};
  serving::TraceWriter* writer_ = nullptr;
  PresentPoints observer_;
  std::atomic<bool> stop_ = false;
  fs::path out_;
};

// A server whose answers say that `cached` of each prompt's 8 tokens were found in its cache; -1:
// they do not say.
EchoServer::Script caching(int64_t cached) {
  return [cached](const EchoRequest& request) {
    if (request.path == "/v1/models") return model_list();
    if (request.path == "/version")
      return EchoAnswer{.pieces = {{.bytes = R"({"version":"7.1"})"}}};
    if (request.path == "/metrics") return EchoAnswer{.status = 404};
    return completion(max_tokens_of(request), 0.002, 0.001, Telling::kTokenIds, 1, 8, cached);
  };
}

// A server that tells only in its metrics how many prompt tokens it looked up (`counted` a prompt)
// and found (`cached` a prompt).
EchoServer::Script counting(int64_t counted, int64_t cached) {
  auto requests = std::make_shared<std::atomic<int64_t>>(0);
  return [=](const EchoRequest& request) {
    if (request.path == "/v1/models") return model_list();
    if (request.path == "/version") return EchoAnswer{.status = 404};
    if (request.path != "/metrics") {
      ++*requests;
      return completion(max_tokens_of(request), 0.002, 0.001, Telling::kTokenIds, 1, 8);
    }
    return EchoAnswer{
        .pieces = {{.bytes = fmt::format("# TYPE vllm:prefix_cache_queries_total counter\n"
                                         "vllm:prefix_cache_queries_total{{model=\"e\"}} {}\n"
                                         "vllm:prefix_cache_hits_total{{model=\"e\"}} {}\n",
                                         counted * *requests, cached * *requests)}}};
  };
}

EchoAnswer echo(const EchoRequest& request) { return caching(2)(request); }

Json answers_of(const experiments::RunOutcome& outcome) {
  return json_of(outcome.records.at(0).answers);
}
Json server_of(const experiments::RunOutcome& outcome) {
  return json_of(outcome.records.at(0).settings.resolved)["server"];
}

TEST_F(LoadKindTest, WritesTheRecordsOfAServerAsOfAnyMethod) {
  EchoServer server(echo);
  const experiments::RunOutcome outcome = run(server.url());
  ASSERT_EQ(outcome.records.size(), 2u);
  for (const Json& record : results::lines_of(outcome.records)) {
    EXPECT_EQ(record["settings"]["requested"]["method"], "echo-1");
    EXPECT_EQ(record["settings"]["resolved"]["server"]["url"], server.url());
    EXPECT_EQ(record["settings"]["resolved"]["server"]["model"], "echo");
    const Json& client = record["settings"]["resolved"]["client"];
    EXPECT_GT(client["busy_share"], 0.0);
    EXPECT_GT(client["tokens_per_cpu_s"], 2 * client["requests_per_cpu_s"].get<double>());
    EXPECT_FALSE(record["settings"]["resolved"].contains("audit"));
    EXPECT_EQ(record["answers"]["verdict"], "VALID");
    EXPECT_EQ(record["answers"]["generated_tokens"], 90);
    EXPECT_EQ(record["samples"]["ttft_ms"].size(), 30u);
    EXPECT_EQ(record["metrics"]["reused_tokens"]["value"], 60.0);
    EXPECT_GT(record["metrics"]["throughput_rps"]["value"], 0.0);
  }
  EXPECT_EQ(server_of(outcome)["owner"], "echo");
  EXPECT_EQ(server_of(outcome)["version"], "7.1");
  EXPECT_EQ(server_of(outcome)["reuse_told_by"], "answers");
  EXPECT_NO_THROW((void)results::read_folder(out_));
  EXPECT_EQ(observer_.found, 0);
  (void)run(server.url());  // goes on where it was: nothing is left to do
  EXPECT_EQ(observer_.found, 2);
}

TEST_F(LoadKindTest, PointsHaveOtherPromptsAndANonceGivesThemAgain) {
  EchoServer server(echo);
  const auto salts_of = [&](uint64_t nonce, const char* reuse) {
    fs::remove_all(out_);
    plans_.salts.clear();
    (void)run(server.url(), {.allowed = reuse, .nonce = nonce});
    std::vector<workloads::Salt> measured;
    for (const workloads::Salt& salt : plans_.salts)
      if (salt != workloads::Salt()) measured.push_back(salt);  // those of check() are not salted
    return measured;
  };
  const auto first = salts_of(7, "prefix_within_run");
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].scope, workloads::SaltScope::kRun);
  EXPECT_NE(first[0].nonce, first[1].nonce)
      << "the second point would find the first one's prompts";
  EXPECT_EQ(salts_of(7, "prefix_within_run"), first);
  EXPECT_NE(salts_of(8, "prefix_within_run")[0].nonce, first[0].nonce);
  EXPECT_EQ(salts_of(7, "session")[0].scope, workloads::SaltScope::kSession);
  EXPECT_EQ(salts_of(7, "none")[0].scope, workloads::SaltScope::kRequest);
  EXPECT_THROW((void)salts_of(7, "some"), Error);
  dtypes_ = {DType::kF32, DType::kBF16};
  std::set<uint64_t> nonces;
  for (const workloads::Salt& salt : salts_of(7, "prefix_within_run")) nonces.insert(salt.nonce);
  EXPECT_EQ(nonces.size(), 4u) << "a point would find the prompts of one with another dtype";
}

TEST_F(LoadKindTest, ACacheThatHeldThePromptsBeforeMakesTheRunInvalid) {
  EchoServer server(caching(7));
  const experiments::RunOutcome outcome = run(server.url());
  EXPECT_EQ(answers_of(outcome)["verdict"], "INVALID");
  EXPECT_NE(answers_of(outcome)["reasons"].dump().find(
                "found 210 of 240 prompt tokens in its cache, but the run's requests share at most "
                "180"),
            std::string::npos)
      << answers_of(outcome)["reasons"];
}

TEST_F(LoadKindTest, ReuseOfEverythingIsAllowedOnRequest) {
  EchoServer server(caching(7));
  const experiments::RunOutcome outcome = run(server.url(), {.allowed = "all"});
  EXPECT_EQ(answers_of(outcome)["verdict"], "VALID");
  EXPECT_EQ(server_of(outcome)["reuse"], "all");
}

TEST_F(LoadKindTest, CountersTellWhatAnswersDoNot) {
  EchoServer within(counting(8, 1));
  const experiments::RunOutcome valid = run(within.url());
  EXPECT_EQ(answers_of(valid)["verdict"], "VALID");
  EXPECT_EQ(server_of(valid)["reuse_told_by"], "counters");
  fs::remove_all(out_);
  EchoServer beyond(counting(8, 7));
  EXPECT_NE(answers_of(run(beyond.url()))["reasons"].dump().find("found 210 of 240"),
            std::string::npos);
  fs::remove_all(out_);
  EchoServer busy(counting(80, 6));
  EXPECT_NE(answers_of(run(busy.url()))["reservations"].dump().find("it had others to serve"),
            std::string::npos);
}

TEST_F(LoadKindTest, AnAuditOfPromptsThatAreTooShortIsRefused) {
  EchoServer server(echo);
  EXPECT_THROW((void)run(server.url(), {.audits = true}), Error);
  EXPECT_LT(server.requests(), 30) << "the run was wasted";
}

// If the audit decided whether the audited rate passes, a search would go on to rates without an
// audit.
TEST_F(LoadKindTest, AnAuditJudgesASearchAndNotOneOfItsRates) {
  plans_.searches = true;
  plans_.prompt = 40;
  std::mutex mutex;
  std::set<std::string> known;
  EchoServer server([&](const EchoRequest& request) {
    if (request.path == "/v1/models") return model_list();
    if (request.path != "/v1/completions") return EchoAnswer{.status = 404};
    const std::lock_guard lock(mutex);
    const double gap_s = known.insert(request.body).second ? 0.004 : 0;
    return completion(max_tokens_of(request), 0.002, gap_s, Telling::kTokenIds, 1, 40, 2);
  });
  const experiments::RunOutcome outcome = run(server.url(), {.audits = true});
  for (const Json& record : results::lines_of(outcome.records)) {
    EXPECT_EQ(record["answers"]["verdict"], "INVALID");
    EXPECT_EQ(record["metrics"]["is_valid"]["value"], 0.0);
    EXPECT_NE(record["answers"]["reasons"].dump().find("the server keeps answers"),
              std::string::npos);
    EXPECT_GT(record["settings"]["resolved"]["audit"]["further_tokens_ratio"]["low"], 2.0);
  }
}

TEST_F(LoadKindTest, SaysWhereReuseIsNotObservable) {
  EchoServer server(caching(-1));
  const experiments::RunOutcome outcome = run(server.url());
  EXPECT_EQ(answers_of(outcome)["verdict"], "VALID");
  EXPECT_NE(answers_of(outcome)["reservations"].dump().find("reuse is not observable"),
            std::string::npos);
  EXPECT_EQ(server_of(outcome)["reuse_told_by"], "nobody");
}

TEST_F(LoadKindTest, AnotherServerDoesNotGoOnInTheFirstOnesFolder) {
  EchoServer one(echo), other(echo);
  (void)run(one.url());
  try {
    const experiments::RunOutcome outcome = run(other.url());
    EXPECT_EQ(observer_.found, 0);
    EXPECT_EQ(server_of(outcome)["url"], other.url());
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(out_.string()), std::string::npos) << error.what();
  }
}

TEST_F(LoadKindTest, AServerThatReadsAnotherPromptHasFailed) {
  EchoServer server([](const EchoRequest& request) {
    if (request.path == "/v1/models") return model_list();
    return completion(max_tokens_of(request), 0.002, 0.001, Telling::kTokenIds, 1, 3, 0);
  });
  const Json answers = json_of(run(server.url()).records.at(0).answers);
  EXPECT_EQ(answers["verdict"], "INVALID");
  EXPECT_NE(answers["reasons"].dump().find("counts 3 tokens in a prompt of"), std::string::npos);
}

TEST_F(LoadKindTest, AServerThatIsDownIsNamed) {
  std::string url;
  {
    const EchoServer server(echo);
    url = server.url();
  }
  try {
    (void)run(url);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(url), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("same command goes on"), std::string::npos);
  }
}

TEST_F(LoadKindTest, AServerThatFailsInItsWarmUpIsNamed) {
  plans_.warmup = {{.prompt = std::vector<int32_t>(8, 5), .output_tokens = 7}};
  EchoServer one(echo);
  EchoServer two([](const EchoRequest& request) {
    return max_tokens_of(request) == 7 ? EchoAnswer{.status = 503} : echo(request);
  });
  try {
    (void)run({{.label = "one", .url = one.url()}, {.label = "two", .url = two.url()}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(fmt::format("two ({}): warming up: ", two.url())),
              std::string::npos)
        << error.what();
  }
}

TEST_F(LoadKindTest, AnExperimentWithoutRequestsIsAnError) {
  plans_.count = 0;
  EXPECT_THROW((void)run("http://127.0.0.1:9"), Error);
}

TEST_F(LoadKindTest, APlanThatIsRefusedSendsNothing) {
  EchoServer server(echo);
  plans_.refusal = "search without a service level";
  try {
    (void)run(server.url());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(plans_.refusal), std::string::npos) << error.what();
  }
  EXPECT_EQ(server.requests(), 0);
}

TEST_F(LoadKindTest, DescriptorsAreThereForAllConnections) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max < 300) GTEST_SKIP() << "the hard limit of descriptors is below 300";
  const rlimit few{100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  rlimit now{};
  (void)LoadKind(plans_, {.most_connections = 20});
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, 100u);  // enough for 20 connections
  (void)LoadKind(plans_, {.most_connections = 200});
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, before.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max == RLIM_INFINITY) return;
  const auto too_many = static_cast<int64_t>(before.rlim_max);
  try {
    (void)LoadKind(plans_, {.most_connections = too_many});
    FAIL() << "as many connections as descriptors";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(fmt::format("--connections {}", too_many)),
              std::string::npos)
        << error.what();
  }
}

TEST_F(LoadKindTest, SeveralServersGetTheSameRequestsInTurn) {
  std::mutex mutex;
  std::vector<std::string> order;  // the server of each request for a completion
  std::map<std::string, std::vector<std::string>> bodies;
  const auto noting = [&](const std::string& name) {
    return [&, name](const EchoRequest& request) {
      if (request.path == "/v1/completions") {
        const std::lock_guard lock(mutex);
        if (order.empty() || order.back() != name) order.push_back(name);
        bodies[name].push_back(request.body);
      }
      return echo(request);
    };
  };
  EchoServer one(noting("one")), two(noting("two"));
  const experiments::RunOutcome outcome =
      run({{.label = "one", .url = one.url()}, {.label = "two", .url = two.url()}}, {}, 3);
  ASSERT_EQ(outcome.records.size(), 4u);  // two rates
  for (const results::Record& record : outcome.records)
    EXPECT_EQ(record.samples.at("throughput_rps").size(), 3u);
  // Two rates with three repetitions each. Another server goes first in each repetition.
  EXPECT_EQ(order,
            (std::vector<std::string>{"one", "two", "one", "two", "one", "two", "one", "two"}))
      << "one two | two one | one two, twice; equal neighbours count once";
  for (auto& [name, all] : bodies) std::sort(all.begin(), all.end());
  EXPECT_EQ(bodies["one"], bodies["two"]);
}

TEST_F(LoadKindTest, EachRunHasANameOfItsOwnInATrace) {
  const fs::path path = out_.string() + "_trace.json";
  serving::TraceWriter writer(path);
  writer_ = &writer;
  EchoServer server(echo);
  (void)run({{.label = "echo-1", .url = server.url()}}, {}, 2);
  writer.finish();
  const Json events = Json::parse(std::ifstream(path))["traceEvents"];
  fs::remove(path);
  std::set<std::string> names;
  for (const Json& event : events)
    if (event["name"] == "process_name") names.insert(event["args"]["name"].get<std::string>());
  EXPECT_EQ(names.size(), 4u) << "two rates, two repetitions";
  EXPECT_NE(names.begin()->find("echo-1, repetition 1"), std::string::npos) << *names.begin();
}

TEST_F(LoadKindTest, TheServersNamesMustNameFoldersAndDiffer) {
  for (const char* name : {"", "..", "a/b", "-x", "a b"})
    EXPECT_THROW((void)for_servers({}, {{.label = name, .url = "http://host"}}), Error) << name;
  EXPECT_THROW(
      (void)for_servers({}, {{.label = "a", .url = "http://h"}, {.label = "a", .url = "http://i"}}),
      Error);
  EXPECT_THROW((void)for_servers({}, {{.label = "a", .url = "h:80"}}), Error);
  const auto both = for_servers({},
                                {{.label = "llama-server", .url = "http://host"},
                                 {.label = "beside", .url = "http://other"}},
                                {}, {.model = "m"})
                        .methods;
  EXPECT_EQ(both.at(0).name, "llama-server");
  EXPECT_EQ(json_of(both.at(0).options), Json({{"url", "http://host"}, {"model", "m"}}));
  EXPECT_EQ(json_of(both.at(1).options), Json({{"url", "http://other"}, {"model", "m"}}));
  const auto chat = for_servers({}, {{.label = "a", .url = "http://host"}}, {.nonce = 3},
                                {.form = PromptForm::kChat}, /*primes=*/true)
                        .methods.front();
  EXPECT_EQ(json_of(chat.options),
            Json({{"url", "http://host"}, {"nonce", 3}, {"primes", true}, {"prompts", "chat"}}));
}

}  // namespace
}  // namespace reprise::server
