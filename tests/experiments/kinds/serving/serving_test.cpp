// Whole serving runs of a tiny model: every method serves the same requests, gives the same tokens,
// and finds in its cache what it promises.
#include "experiments/kinds/serving/serving.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/problems.h"
#include "experiments/kinds/serving/engine_target.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/environment.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

class Serving : public KindOnTinyModel {
 protected:
  // 24 requests of 40 to 60 tokens after a prefix of 64, served 6 at a time as fast as possible.
  Group group(const Json& changes = Json::object()) const {
    Json file = {{"kind", "serving"},
                 {"methods",
                  {"paged",
                   {{"name", "paged_shared"}, {"options", {{"declared", true}}}},
                   {{"name", "paged_shared"}, {"options", {{"reuse_prefill", true}}}},
                   {{"name", "chunk_attention"}, {"options", {{"preset", "as_published"}}}},
                   "relay_attention",
                   {{"name", "auto"}, {"options", {{"reuse_prefill", true}}}}}},
                 {"workload", "groups"},
                 {"settings",
                  {{"shared_tokens", 64},
                   {"user_tokens", 40},
                   {"user_tokens_most", 60},
                   {"output_tokens", 5},
                   {"output_tokens_most", 9},
                   {"requests", 24},
                   {"arrivals", "closed"},
                   {"most_in_flight", 8},
                   {"max_batch", 6},
                   {"prefill_chunk", 48},
                   {"least_duration_s", 0},
                   {"least_requests", 24}}},
                 {"repetitions", 1},
                 {"warmup", 1}};
    file.merge_patch(changes);
    return group_of(file);
  }
  std::vector<Measured> measured(const Json& changes = Json::object()) {
    const Group given = group(changes);
    ServingKind kind(context_);
    kind.check(given);
    return measured_json(kind.measure(given, machine_of_json(machine_), stop_));
  }
  std::string refusal(const Json& changes) {
    Problems problems;
    problems.collect([&] { ServingKind(context_).check(group(changes)); });
    return fmt::format("{}", fmt::join(problems.list(), "\n"));
  }

  // Prompts of `user_tokens` tokens that share nothing, with one method and further settings.
  static Json unshared(int64_t user_tokens, const Json& settings) {
    Json changes = {{"methods", {"paged"}},
                    {"workload", "grid"},
                    {"settings",
                     {{"shared_tokens", 0},
                      {"user_tokens", user_tokens},
                      {"user_tokens_most", nullptr},
                      {"output_tokens_most", nullptr}}}};
    changes["settings"].update(settings);
    return changes;
  }

  // Limits above those of any machine that runs the test.
  const Json machine_ = {{"limits", {{"f32_gflop_s", 1e6}, {"dram_read_gb_s", 1e5}}}};
};

// If requests were made anew for each question to the kind, a sweep over MMLU would encode its
// texts three times for each point before the first one.
TEST_F(Serving, RequestsAreMadeOnceForAllThatAGroupIsAsked) {
  ServingKind kind(context_);
  const Group one = group(), other = group({{"settings", {{"requests", 30}}}});
  const auto requests = kind.plan(one, {}).source;
  EXPECT_NE(kind.plan(other, {}).source, requests);
  EXPECT_EQ(kind.plan(one, {}).source, requests);
}

// `reprise load` calls check_plan() before it sends anything.
TEST_F(Serving, PlansForAServerAreCheckedWithoutTheEngine) {
  const auto refusal_of_plan = [&](const Json& settings) {
    Problems problems;
    problems.collect([&] { ServingKind(context_).check_plan(group({{"settings", settings}})); });
    return fmt::format("{}", fmt::join(problems.list(), "\n"));
  };
  EXPECT_EQ(refusal_of_plan({{"max_batch", 1}}), "");
  EXPECT_NE(refusal_of_plan({{"search", "highest_rate"}}).find("without a service level"),
            std::string::npos);
  EXPECT_NE(refusal_of_plan({{"modelled_step_ms", 2.0}}).find("settings.modelled_step_ms=0"),
            std::string::npos);
}

TEST_F(Serving, EveryMethodGivesTheSameTokens) {
  for (const Measured& run : measured()) {
    EXPECT_EQ(value_of(run, "ended_requests"), 24);
    EXPECT_EQ(value_of(run, "errors"), 0);
    EXPECT_EQ(value_of(run, "equal_requests_ratio"), 1);
    EXPECT_EQ(value_of(run, "is_valid"), 1);
    EXPECT_LE(value_of(run, "batch_peak"), 6);
  }
}

TEST_F(Serving, MethodsFindWhatTheyPromise) {
  const std::vector<Measured> runs = measured();
  EXPECT_EQ(value_of(runs[0], "reused_tokens"), 0);
  EXPECT_EQ(value_of(runs[1], "reused_tokens"), 24 * 64);
  EXPECT_GT(value_of(runs[2], "reused_tokens"), 0);
  EXPECT_GT(value_of(runs[3], "reused_tokens"), 0);
  EXPECT_EQ(value_of(runs[4], "reused_tokens"), 24 * 64);
  EXPECT_GE(value_of(runs[5], "reused_tokens"), 24 * 64);
  // Private copies of the prefix take more memory than one shared copy.
  EXPECT_GT(value_of(runs[0], "peak_kv_mb"), value_of(runs[4], "peak_kv_mb"));
}

// If plans depended on max_batch, a server with more places would be given up while its batch
// fills.
TEST_F(Serving, PlansForAServerDoNotDependOnTheEnginesBatch) {
  const Group given = group({{"settings", {{"max_batch", 1}}}});
  EXPECT_EQ(ServingKind(context_).plan(given, {}).options.growth.least_backlog, 24 / 2);
}

// One module at the beginning is a prefix, so the tokens equal those of the other methods.
TEST_F(Serving, ModulesAreHeldOnceForABatchAndChangeNoToken) {
  Json changes = {{"methods",
                   {"paged",
                    {{"name", "prompt_cache"}, {"options", {{"cache", "paged"}}}},
                    {{"name", "prompt_cache"}, {"options", {{"cache", "chunk_attention"}}}}}}};
  const std::vector<Measured> runs = measured(changes);
  for (size_t m = 1; m < 3; ++m) {
    EXPECT_EQ(value_of(runs[m], "equal_requests_ratio"), 1);
    EXPECT_EQ(value_of(runs[m], "is_valid"), 1);
    EXPECT_EQ(value_of(runs[m], "reused_tokens"), 24 * 64);
    EXPECT_EQ(runs[m].resolved["exactness"], "exact");
    EXPECT_GT(value_of(runs[m], "module_mb"), 0);
    EXPECT_LT(value_of(runs[m], "peak_kv_mb") + value_of(runs[m], "module_mb"),
              value_of(runs[0], "peak_kv_mb"));
    EXPECT_GT(value_of(runs[m], "prime_ms"), 0);
  }
  // With copies, each request under way holds the prefix once more.
  const std::vector<Measured> copied = measured(
      {{"methods",
        {"paged",
         {{"name", "prompt_cache"}, {"options", {{"cache", "paged"}, {"copies", true}}}}}}});
  EXPECT_NEAR(value_of(runs[1], "peak_states_mb"),
              value_of(runs[1], "peak_kv_mb") + value_of(runs[1], "module_mb"), 1e-6);
  EXPECT_GE(value_of(copied[1], "peak_states_mb"),
            value_of(copied[1], "peak_kv_mb") + 3 * value_of(copied[1], "module_mb"));
  // With too little room sequences are preempted, but the modules that they import stay.
  changes["settings"] = {{"output_tokens", 30}, {"output_tokens_most", 58}};
  const std::vector<Measured> roomy = measured(changes);
  changes["settings"]["kv_budget_mb"] = 0.2;
  const std::vector<Measured> tight = measured(changes);
  EXPECT_GT(value_of(tight[1], "preemptions"), 0);
  for (size_t m = 0; m < 3; ++m)
    EXPECT_EQ(tight[m].answers["tokens_hash"], roomy[0].answers["tokens_hash"]);
  EXPECT_NE(refusal({{"methods", {"prompt_cache"}}, {"settings", {{"modelled_step_ms", 1.0}}}})
                .find("steps are modelled"),
            std::string::npos);
  // Nothing drops files from the page cache between requests that overlap.
  EXPECT_NE(
      refusal({{"methods", {{{"name", "prompt_cache"}, {"options", {{"tier", "cold_disk"}}}}}}})
          .find("use the tier \"disk\""),
      std::string::npos);
}

TEST_F(Serving, MemoryForCopiesGrowsWithTheRequestsUnderWay) {
  const auto need = [&](bool copies, int64_t in_flight) {
    const Group given =
        group({{"methods", {{{"name", "prompt_cache"}, {"options", {{"copies", copies}}}}}},
               {"settings", {{"arrivals", "closed"}, {"most_in_flight", in_flight}}}});
    return ServingKind(context_).memory_need(given).bytes;
  };
  EXPECT_EQ(need(false, 8), need(false, 1));
  const double one = need(true, 1) - need(false, 1);  // the prefix once
  EXPECT_GT(one, 0);
  EXPECT_NEAR(need(true, 8) - need(false, 8), 8 * one, one / 100);
}

// Prompt Cache finds documents wherever they stand. Methods that compare prefixes find only what
// comes before the first difference.
TEST_F(Serving, DocumentsThatAreRecombinedAreImportedInAnyOrder) {
  const std::vector<Measured> runs =
      measured({{"methods",
                 {"paged",
                  {{"name", "auto"}, {"options", {{"reuse_prefill", true}, {"retain", true}}}},
                  "prompt_cache",
                  {{"name", "prompt_cache"}, {"options", {{"mode", "repair"}}}}}},
                {"workload", "recombined"},
                {"settings",
                 {{"shared_tokens", nullptr},
                  {"documents", 5},
                  {"document_tokens", 16},
                  {"picks", 3},
                  {"novelty", 1.0}}}});
  EXPECT_EQ(value_of(runs[0], "reused_tokens"), 0);
  EXPECT_LT(value_of(runs[1], "reused_tokens"), 24 * 48);
  for (size_t m = 2; m < 4; ++m) {
    EXPECT_EQ(value_of(runs[m], "is_valid"), 1);
    EXPECT_EQ(value_of(runs[m], "cached_token_share"), value_of(runs[2], "cached_token_share"));
    EXPECT_EQ(value_of(runs[m], "reused_tokens"), 24 * 48);
    EXPECT_EQ(runs[m].resolved["exactness"], "approximate");
  }
  EXPECT_EQ(value_of(runs[1], "equal_requests_ratio"), 1);
}

// Each prompt contains the same method's earlier answers, and a cache that retains requests finds
// them.
TEST_F(Serving, SessionsGoOnWithTheMethodsOwnAnswers) {
  const Json changes = {
      {"methods",
       {"paged", {{"name", "auto"}, {"options", {{"reuse_prefill", true}, {"retain", true}}}}}},
      {"workload", "conversations"},
      {"settings",
       {{"shared_tokens", nullptr},
        {"requests", nullptr},
        {"conversations", 6},
        {"turns", 4},
        {"arrivals", "sessions"},
        {"most_in_flight", 3},
        {"pause_s", 0.001}}}};
  const std::vector<Measured> runs = measured(changes);
  for (const Measured& run : runs) {
    EXPECT_EQ(value_of(run, "ended_requests"), 24);
    EXPECT_EQ(value_of(run, "is_valid"), 1);
    EXPECT_EQ(run.answers["own_answers"], 6 * (1 + 2 + 3));
    EXPECT_EQ(run.answers["invented_answers"], 0);
  }
  EXPECT_EQ(value_of(runs[1], "equal_requests_ratio"), 1);
  EXPECT_GT(value_of(runs[1], "reused_tokens"), 0);
  Json modelled = changes;
  modelled["settings"]["modelled_step_ms"] = 1.0;
  for (const Measured& run : measured(modelled)) {
    EXPECT_EQ(run.answers["own_answers"], 6 * (1 + 2 + 3));
    EXPECT_EQ(run.answers["invented_answers"], 0);
  }
  Json judged = changes;
  judged["settings"]["judged_partings"] = 2;
  EXPECT_NE(refusal(judged).find("leave it at 0"), std::string::npos);
  // A budget below half a byte must not count as unlimited.
  for (const double budget : {1e-3, 1e-7})
    EXPECT_NE(refusal({{"settings", {{"kv_budget_mb", budget}}}}).find("kv_budget_mb is"),
              std::string::npos);
  EXPECT_NE(refusal({{"settings", {{"arrivals", "sessions"}}}}).find("has no conversations"),
            std::string::npos);
}

TEST_F(Serving, ATightBudgetPreemptsAndChangesNoToken) {
  // The budget is eight blocks of 64 tokens, at 512 bytes a token. Three sequences join with two
  // blocks each, and then grow.
  const Json grow = {{"output_tokens", 30}, {"output_tokens_most", 58}};
  const auto with = [&](const Json& settings) {
    Json changes = {{"settings", grow}};
    changes["settings"].update(settings);
    return measured(changes);
  };
  const std::vector<Measured> roomy = with(Json::object());
  for (const std::string& preemption : engine::known_preemptions()) {
    const std::vector<Measured> tight = with({{"kv_budget_mb", 0.27}, {"preemption", preemption}});
    for (size_t m = 0; m < roomy.size(); ++m) {
      EXPECT_EQ(value_of(roomy[m], "preemptions"), 0);
      EXPECT_LE(value_of(tight[m], "peak_kv_mb"), 0.27);
      EXPECT_EQ(tight[m].answers["tokens_hash"], roomy[0].answers["tokens_hash"]) << preemption;
    }
    EXPECT_GT(value_of(tight[0], "preemptions"), 0) << preemption;
  }
}

TEST(TracedKernels, AreThoseOfTheRun) {
  OperationLog log(3);
  log.add("norm", 900'000'000, 1'500'000'000);  // of the warm-up
  log.add("attention", 1'250'000'000, 1'500'000'000);
  log.add("sampling", 1'500'000'000, 2'000'000'000);
  log.add("norm", 2'000'000'000, 2'500'000'000);  // beyond the three that are kept
  const std::vector<serving::KernelEntry> kernels = kernel_entries_of(log, /*start_s=*/1);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_STREQ(kernels[0].name, "attention");
  EXPECT_DOUBLE_EQ(kernels[0].start_s, 0.25);
  EXPECT_DOUBLE_EQ(kernels[0].end_s, 0.5);
  log.clear();
  EXPECT_TRUE(kernel_entries_of(log, 0).empty());
}

TEST(ServingSteps, SwappingIsNoneOfTheModelsArithmetic) {
  const serving::StepEntry step = step_entry_of(
      {.end_ns = 4'000'000'000, .scheduling_ns = 1'000'000'000, .swapping_ns = 2'000'000'000});
  EXPECT_EQ(step.scheduling_s, 3);
}

TEST_F(Serving, TracesHaveEachRunOfASearch) {
  const model::TempDir dir;
  const Group given = group(unshared(8, {{"output_tokens", 1},
                                         {"arrivals", "constant"},
                                         {"rate_rps", 8.0},
                                         {"most_in_flight", nullptr},
                                         {"modelled_step_ms", 10.0},
                                         {"slo_ttft_ms", 50.0},
                                         {"slo_share", 0.5},
                                         {"search", "highest_rate"},
                                         {"search_resolution", 1}}));
  ServingKind kind(context_);
  serving::TraceWriter writer(dir.path() / "trace.json");
  kind.trace_to(writer);
  const auto runs = measured_json(kind.measure(given, machine_of_json(machine_), stop_));
  writer.finish();
  const Json events = Json::parse(std::ifstream(dir.path() / "trace.json"))["traceEvents"];
  const auto processes = std::count_if(events.begin(), events.end(), [](const Json& event) {
    return event["name"] == "process_name";
  });
  EXPECT_EQ(static_cast<double>(processes), value_of(runs[0], "search_runs"));
  EXPECT_NE(events.dump().find("paged, 8 requests/s"), std::string::npos);
}

// The memory of a cache is its whole budget, and partings in bf16 are judged by the model in f32.
TEST_F(Serving, TheMemoryNeededIsThatOfTheBudgetAndOfTheModelThatJudges) {
  const auto need_bytes = [&](const Json& changes) {
    return ServingKind(context_).memory_need(group(changes)).bytes;
  };
  const double mb = 1e6;
  EXPECT_NEAR(need_bytes({{"settings", {{"kv_budget_mb", 300.0}}}}) -
                  need_bytes({{"settings", {{"kv_budget_mb", 100.0}}}}),
              200 * mb, mb);
  const Json judged = {{"settings", {{"judged_partings", 2}}}};
  EXPECT_EQ(need_bytes(judged), need_bytes(Json::object()));
  Json rounded = {{"dtypes", {"bf16"}}};
  const double without = need_bytes(rounded);
  rounded.update(judged);
  EXPECT_GT(need_bytes(rounded), without);
}

// The spans of requests, steps and kernels lie within those of the run.
TEST_F(Serving, TracesHavePreemptionsAndKernels) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("reprise_serving_{}", ::getpid());
  const Group given = group({{"methods", {"paged"}},
                             {"settings",
                              {{"output_tokens", 30},
                               {"output_tokens_most", 58},
                               {"kv_budget_mb", 0.27},
                               {"preemption", engine::known_preemptions().front()}}}});
  ServingKind kind(context_);
  serving::TraceWriter writer(path);
  kind.trace_to(writer);
  const auto runs = measured_json(kind.measure(given, machine_of_json(machine_), stop_));
  writer.finish();
  const Json events = Json::parse(std::ifstream(path))["traceEvents"];
  std::filesystem::remove(path);
  std::map<std::string, int64_t> spans;
  std::vector<std::pair<double, double>> preempting_steps, preempted;  // begin, end [us]
  double kernels_us = 0, steps_us = 0;
  for (const Json& event : events) {
    if (event["ph"] != "X") continue;
    ++spans[event["name"]];
    EXPECT_GE(event["ts"].get<double>(), 0) << event;
    const double begin_us = event["ts"], end_us = begin_us + event["dur"].get<double>();
    if (event["name"] == "preempted") preempted.emplace_back(begin_us, end_us);
    if (event["cat"] == "step" && event["args"]["preempted"] > 0)
      preempting_steps.emplace_back(begin_us, end_us);
    if (event["cat"] == "kernel") kernels_us += event["dur"].get<double>();
    if (event["cat"] == "step") steps_us += event["dur"].get<double>();
  }
  EXPECT_GT(spans["preempted"], 0);
  EXPECT_LE(spans["preempted"], value_of(runs[0], "preemptions"));
  constexpr double kRounding_us = 0.01;
  for (const auto& [begin_us, end_us] : preempted)
    EXPECT_TRUE(std::any_of(preempting_steps.begin(), preempting_steps.end(),
                            [begin = begin_us, end = end_us](const auto& step) {
                              return step.first >= begin - kRounding_us &&
                                     step.second <= end + kRounding_us;
                            }))
        << begin_us << " to " << end_us;
  EXPECT_EQ(spans["prefill"], 24);
  for (const char* kernel : {"embedding", "norm", "rotary", "matrix product", "KV write",
                             "attention", "activation", "sampling"})
    EXPECT_GE(spans[kernel], spans["step"]) << kernel;
  EXPECT_GT(kernels_us, 0);
  EXPECT_LT(kernels_us, steps_us);
}

TEST_F(Serving, RepetitionsCompareRatesTurnByTurn) {
  const std::vector<Measured> runs = measured({{"repetitions", 3}});
  for (const Measured& run : runs) {
    EXPECT_EQ(run.samples["throughput_speedup"].size(), 3);
    EXPECT_EQ(run.resolved["repetitions"], 3);
    EXPECT_EQ(value_of(run, "ended_requests"), 24) << "of one turn";
    EXPECT_GT(value_of(run, "throughput_speedup"), 0);
  }
  EXPECT_EQ(runs[0].samples["throughput_speedup"], Json({1.0, 1.0, 1.0}));
}

TEST_F(Serving, AnOpenLoopCountsFromTheIntendedArrival) {
  const std::vector<Measured> runs = measured(
      {{"methods", {"paged"}}, {"settings", {{"arrivals", "poisson"}, {"rate_rps", 2000.0}}}});
  EXPECT_GT(value_of(runs[0], "offered_rps"), 500);
  EXPECT_GT(value_of(runs[0], "ttft_ms"), 0);
  EXPECT_GE(value_of(runs[0], "e2e_ms"), value_of(runs[0], "ttft_ms"));
  EXPECT_GT(value_of(runs[0], "steps_limit_s"), 0);
  EXPECT_GT(value_of(runs[0], "steps_s"), value_of(runs[0], "steps_limit_s"));
  EXPECT_EQ(value_of(runs[0], "steps_dram_limit_s"), value_of(runs[0], "steps_limit_s"))
      << "each has a prompt and blocks of its own";
}

// One prefill step, and five decode steps that see the last 32 tokens. The machine's arithmetic
// takes no time, so the limit is that of the reads.
TEST_F(Serving, LimitsOfStepsStopGrowingAtTheSlidingWindow) {
  const Json machine = {{"limits", {{"f32_gflop_s", 1e15}, {"dram_read_gb_s", 1e5}}}};
  const auto limit_s = [&](int64_t prompt_tokens) {
    const Group given = group(unshared(
        prompt_tokens,
        {{"output_tokens", 6}, {"most_in_flight", 1}, {"max_batch", 1}, {"prefill_chunk", 256}}));
    ServingKind kind(context_);
    const std::vector<Measured> runs =
        measured_json(kind.measure(given, machine_of_json(machine), stop_));
    return value_of(runs.at(0), "steps_limit_s");
  };
  EXPECT_GT(limit_s(128), 1.001 * limit_s(64)) << "without a window";
  std::ifstream file(dir_ / "config.json");
  Json config = Json::parse(file);
  config["architectures"] = {"MistralForCausalLM"};
  config["model_type"] = "mistral";
  config["sliding_window"] = 32;
  std::ofstream(dir_ / "config.json") << config;
  EXPECT_LT(limit_s(16), limit_s(64) / 1.001);
  EXPECT_DOUBLE_EQ(limit_s(128), limit_s(64));
  const std::vector<Measured> runs = measured({{"methods", {"paged", "relay_attention"}}});
  EXPECT_TRUE(runs[0].metrics.contains("steps_limit_s"));
  EXPECT_FALSE(runs[1].metrics.contains("steps_limit_s"))
      << "reads that it spares may be outside the window";
}

// Four requests of 40 tokens arrive at once, share nothing and generate 5 tokens: every time can be
// computed.
TEST_F(Serving, ModelledStepsTakeWhatTheModelSays) {
  const Json changes = unshared(40, {{"output_tokens", 5},
                                     {"requests", 4},
                                     {"most_in_flight", 4},
                                     {"prefill_chunk", 160},
                                     {"least_requests", 4},
                                     {"modelled_step_ms", 2.0},
                                     {"modelled_row_us", 100.0}});
  const Measured run = measured(changes).at(0);
  // The first step has 160 rows, and each later one has 4.
  EXPECT_NEAR(value_of(run, "ttft_ms"), 2 + 16, 1e-6);
  EXPECT_NEAR(value_of(run, "tpot_ms"), 2 + 0.4, 1e-6);
  EXPECT_NEAR(value_of(run, "e2e_ms"), 18 + 4 * 2.4, 1e-6);
  EXPECT_GT(value_of(run, "replay_s"), 0);
  EXPECT_GT(value_of(run, "steps_s"), 0);
  EXPECT_FALSE(run.metrics.contains("scheduling_ratio")) << "scheduling takes real time";
  EXPECT_EQ(run.memory.at("kv_peak_bytes").get<int64_t>() > 0, true);
}

TEST_F(Serving, ModelledArrivalsAreMetOnTheirClock) {
  // Nine hours of requests, one every ten seconds.
  const Json changes = {{"methods", {"paged"}},
                        {"settings",
                         {{"requests", 3000},
                          {"arrivals", "constant"},
                          {"rate_rps", 0.1},
                          {"most_in_flight", nullptr},
                          {"modelled_step_ms", 2.0}}}};
  const Measured run = measured(changes).at(0);
  EXPECT_EQ(value_of(run, "ended_requests"), 3000);
  EXPECT_NEAR(value_of(run, "throughput_rps"), 0.1, 1e-3);
  EXPECT_LT(value_of(run, "replay_s"), 5);
}

// A server that takes one request at a time, for 10 ms each. With arrivals at a constant rate it
// keeps up with 100 requests a second.
TEST_F(Serving, FindsTheHighestRateOfAServiceLevel) {
  const Json changes = unshared(8, {{"output_tokens", 1},
                                    {"requests", 2000},
                                    {"arrivals", "constant"},
                                    {"rate_rps", 3.0},
                                    {"most_in_flight", nullptr},
                                    {"max_batch", 1},
                                    {"modelled_step_ms", 10.0},
                                    {"slo_ttft_ms", 20.0},
                                    {"search", "highest_rate"},
                                    {"search_trials", 1},
                                    {"search_resolution", 0.02}});
  const Measured run = measured(changes).at(0);
  EXPECT_NEAR(value_of(run, "highest_rps"), 100, 3);
  EXPECT_GT(value_of(run, "above_rps"), value_of(run, "highest_rps"));
  EXPECT_LE(value_of(run, "ttft_ms"), 20);
  EXPECT_GE(value_of(run, "search_runs"), 6);
  EXPECT_EQ(run.answers.at("search").at(0).at("rate_rps"), 3.0);
  EXPECT_EQ(run.answers.at("slo"), "met");
  EXPECT_GE(run.answers.at("over_slo_allowed"), 0);  // the measured run's, not "too few ended"
  EXPECT_EQ(value_of(run, "is_valid"), 1);
}

// 40 requests are too few for ten seconds at 100 a second, and for the 99th percentile. So trials
// draw more requests, and together they are enough.
TEST_F(Serving, ASearchDrawsAsManyRequestsAsItsRateNeeds) {
  const Json changes = unshared(8, {{"output_tokens", 1},
                                    {"requests", 40},
                                    {"arrivals", "poisson"},
                                    {"rate_rps", 20.0},
                                    {"most_in_flight", nullptr},
                                    {"least_duration_s", 10.0},
                                    {"modelled_step_ms", 1.0},
                                    {"slo_ttft_ms", 3.0},
                                    {"search", "highest_rate"},
                                    {"search_resolution", 0.2}});
  const Measured run = measured(changes).at(0);
  EXPECT_GT(value_of(run, "highest_rps"), 50);
  EXPECT_EQ(value_of(run, "is_valid"), 1);
  for (const Json& step : run.answers.at("search")) EXPECT_FALSE(step.contains("invalid")) << step;
}

// 40 requests in each of 4 runs cannot decide on p99, so each run draws more. The search begins at
// a low rate, so the duration alone asks for no more than 40.
TEST_F(Serving, ASearchDrawsAsManyRequestsAsItsDecisionNeeds) {
  Json changes = unshared(8, {{"output_tokens", 1},
                              {"requests", 40},
                              {"arrivals", "poisson"},
                              {"rate_rps", 1.0},
                              {"most_in_flight", nullptr},
                              {"least_duration_s", 10.0},
                              {"modelled_step_ms", 1.0},
                              {"slo_ttft_ms", 100.0},
                              {"slo_share", 0.99},
                              {"search", "highest_rate"},
                              {"search_resolution", 1.0}});
  EXPECT_GT(value_of(measured(changes).at(0), "highest_rps"), 1);
  changes["settings"]["least_requests"] = 120;
  const Measured larger = measured(changes).at(0);
  EXPECT_EQ(value_of(larger, "is_valid"), 1);
  EXPECT_GE(larger.answers.at("search")[0]["requests"], 120);
}

// A search with conversations, which have a fixed number of requests, here 40.
Json search_of_conversations() {
  return {{"methods", {"paged"}},
          {"workload", "conversations"},
          {"settings",
           {{"shared_tokens", nullptr},
            {"requests", nullptr},
            {"conversations", 20},
            {"turns", 2},
            {"arrivals", "constant"},
            {"rate_rps", 20.0},
            {"most_in_flight", nullptr},
            {"least_duration_s", 1.0},
            {"modelled_step_ms", 0.1},
            {"slo_ttft_ms", 100.0},
            {"search", "highest_rate"},
            {"search_trials", 1}}}};
}

TEST_F(Serving, ASearchWithTooFewRequestsEndsAndSaysSo) {
  Json changes = search_of_conversations();
  const std::vector<std::tuple<int, double, std::string>> cases = {
      {20, 0.99, "0 of the 40 requests of one run missed the service level, too few"},
      {41, 0.9, "a run has 40 requests, fewer than least_requests"}};
  for (const auto& [least, share, reason] : cases) {
    changes["settings"]["least_requests"] = least;
    changes["settings"]["slo_share"] = share;
    const Measured run = measured(changes).at(0);
    EXPECT_EQ(value_of(run, "search_runs"), 1);
    EXPECT_EQ(value_of(run, "highest_rps"), 0);
    EXPECT_EQ(value_of(run, "is_valid"), 0);
    EXPECT_NE(run.answers.at("reservations").dump().find("no lower rate was tried: " + reason),
              std::string::npos)
        << run.answers;
  }
}

// Above 40 requests a second, the 40 requests take less than the least duration.
TEST_F(Serving, ASearchThatAnInvalidRunEndedSaysSo) {
  Json changes = search_of_conversations();
  changes["settings"]["slo_share"] = 0.9;
  changes["settings"]["search_resolution"] = 0.5;
  const Measured run = measured(changes).at(0);
  EXPECT_EQ(value_of(run, "is_valid"), 1);
  EXPECT_LT(value_of(run, "highest_rps"), 45);
  EXPECT_NE(run.answers.at("reservations").dump().find("ended by an INVALID run: at "),
            std::string::npos)
      << run.answers;
}

// With 8 requests, all are short. From about 27 requests a second on, a run needs more, and draws
// the file's longest one.
TEST_F(Serving, ASearchEndsBeforeRequestsThatDoNotFit) {
  const model::TempDir dir;
  std::string lengths = "prompt,output\n";
  for (int i = 0; i < 2000; ++i) lengths += "8,1\n";
  lengths += "4000,1\n";
  Json changes = unshared(1, {{"user_tokens", nullptr},
                              {"output_tokens", nullptr},
                              {"requests", 8},
                              {"order", "recorded"},
                              {"arrivals", "constant"},
                              {"rate_rps", 2.0},
                              {"most_in_flight", nullptr},
                              {"least_duration_s", 1.0},
                              {"least_requests", 1},
                              {"kv_budget_mb", 0.3},
                              {"modelled_step_ms", 0.1},
                              {"slo_ttft_ms", 100.0},
                              {"slo_share", 0.5},
                              {"search", "highest_rate"},
                              {"search_trials", 1},
                              {"search_resolution", 0.5}});
  changes["workload"] = {{"name", "lengths"}, {"file", dir.write("lengths.csv", lengths).string()}};
  const Measured run = measured(changes).at(0);
  EXPECT_GT(value_of(run, "highest_rps"), 0);
  EXPECT_EQ(value_of(run, "is_valid"), 1);
  EXPECT_NE(run.answers.at("reservations").dump().find("kv_budget_mb is 0.3"), std::string::npos)
      << run.answers;
}

// A step takes longer than the service level allows for a request.
TEST_F(Serving, ASearchForAServiceLevelThatNoRateMeetsEnds) {
  const Json changes = unshared(8, {{"arrivals", "constant"},
                                    {"rate_rps", 8.0},
                                    {"most_in_flight", nullptr},
                                    {"modelled_step_ms", 10.0},
                                    {"slo_ttft_ms", 5.0},
                                    {"search", "highest_rate"},
                                    {"search_trials", 1}});
  const Measured run = measured(changes).at(0);
  EXPECT_EQ(value_of(run, "highest_rps"), 0);
  EXPECT_EQ(value_of(run, "search_runs"), 1);
  EXPECT_NE(run.answers.at("reservations").dump().find("no lower rate was tried: 473 of the 473 "),
            std::string::npos)
      << run.answers;
}

// If the warm-up used the measured prompts, a cache that retains them would find the first requests
// in it.
TEST_F(Serving, WarmUpPromptsAreNotThoseThatAreMeasured) {
  const Json changes = {
      {"methods", {{{"name", "auto"}, {"options", {{"reuse_prefill", true}, {"retain", true}}}}}},
      {"workload", "grid"},
      {"warmup", 8},
      {"settings",
       {{"shared_tokens", 0},
        {"user_tokens", 200},
        {"user_tokens_most", nullptr},
        {"output_tokens_most", nullptr},
        {"max_batch", 12}}}};
  const Measured run = measured(changes).at(0);
  EXPECT_LT(value_of(run, "reused_tokens"), 24) << "by chance alone";
}

TEST_F(Serving, HiddenPrefixesAreFoundAndNotDeclared) {
  const std::vector<Measured> runs = measured({{"settings", {{"prefixes", "hidden"}}}});
  EXPECT_EQ(value_of(runs[1], "reused_tokens"), 0) << "nothing was declared";
  EXPECT_GT(value_of(runs[3], "reused_tokens"), 0) << "found while requests run";
  EXPECT_EQ(value_of(runs[4], "reused_tokens"), 0);
}

// Three blocks of 64 tokens hold the longest request, but have no room for a declared prefix
// besides.
TEST_F(Serving, HiddenPrefixesNeedNoRoom) {
  Json changes = {
      {"methods", {{{"name", "paged_shared"}, {"options", {{"declared", true}}}}}},
      {"settings", {{"user_tokens", 60}, {"user_tokens_most", nullptr}, {"kv_budget_mb", 0.1}}}};
  EXPECT_THROW((void)measured(changes), Error);
  changes["settings"]["prefixes"] = "hidden";
  EXPECT_EQ(value_of(measured(changes).at(0), "errors"), 0);
}

// Far more requests arrive than can be served, so the run ends before all were sent.
TEST_F(Serving, AQueueThatOnlyGrowsEndsAShortRunToo) {
  const Json changes = {{"methods", {"paged"}},
                        {"settings",
                         {{"requests", 200},
                          {"arrivals", "constant"},
                          {"rate_rps", 100.0},
                          {"most_in_flight", nullptr},
                          {"max_batch", 4},
                          {"modelled_step_ms", 20.0}}}};
  const Measured run = measured(changes).at(0);
  EXPECT_EQ(value_of(run, "is_valid"), 0);
  EXPECT_NE(run.answers.at("reasons").at(0).get<std::string>().find("only grew"),
            std::string::npos);
  EXPECT_NEAR(value_of(run, "replay_request_us") * value_of(run, "ended_requests"),
              value_of(run, "replay_s") * 1e6, 1e-3);
}

TEST_F(Serving, ARunThatIsTooShortIsInvalid) {
  const std::vector<Measured> runs =
      measured({{"methods", {"paged"}}, {"settings", {{"least_requests", 100}}}});
  EXPECT_EQ(value_of(runs[0], "is_valid"), 0);
  EXPECT_EQ(runs[0].answers["verdict"], "INVALID");
  EXPECT_FALSE(runs[0].answers["reasons"].empty());
}

TEST_F(Serving, RefusesWhatCannotBeServed) {
  EXPECT_EQ(refusal(Json::object()), "");
  EXPECT_NE(refusal({{"settings", {{"arrivals", "trace"}}}}).find("times of its own"),
            std::string::npos);
  EXPECT_NE(refusal({{"settings", {{"turns", 3}}}}).find("turns"), std::string::npos);
  EXPECT_NE(refusal({{"settings", {{"modelled_row_us", 3.0}}}}).find("modelled_step_ms"),
            std::string::npos);
  EXPECT_NE(refusal({{"settings", {{"search", "highest_rate"}}}}).find("slo_ttft_ms"),
            std::string::npos);
  EXPECT_NE(refusal({{"settings", {{"search", "highest_rate"}, {"slo_e2e_ms", 9.0}}}})
                .find("no one rate"),
            std::string::npos);
  const auto refused_search = [&](const char* setting, const Json& value) {
    Json changes = {{"settings",
                     {{"search", "highest_rate"},
                      {"slo_e2e_ms", 9.0},
                      {"arrivals", "poisson"},
                      {"most_in_flight", nullptr},
                      {"rate_rps", 5.0}}}};
    changes["settings"][setting] = value;
    return refusal(changes);
  };
  EXPECT_EQ(refused_search("rate_rps", 5.0), "");
  EXPECT_NE(refused_search("rate_rps", 1e-4).find("at least 0.001"), std::string::npos);
  EXPECT_NE(refused_search("judged_partings", 2).find("are not compared"), std::string::npos);
  EXPECT_NE(refusal({{"settings", {{"judged_partings", 2}, {"modelled_step_ms", 1.0}}}})
                .find("no tokens are computed"),
            std::string::npos);
  EXPECT_NE(refusal({{"workload", {{"name", "sharegpt"}, {"file", "no/such/file.json"}}},
                     {"settings",
                      {{"user_tokens", 0},
                       {"user_tokens_most", 0},
                       {"output_tokens", 0},
                       {"output_tokens_most", 0}}}})
                .find("no/such/file.json"),
            std::string::npos);
}

TEST_F(Serving, OnlyStatesThatAreSwappedToDiskNeedAFolder) {
  const testing::EnvironmentVariable tmpdir("TMPDIR", (dir_ / "none").string());
  EXPECT_NO_THROW((void)measured({{"methods", {"paged"}}}));
  EXPECT_EQ(refusal({{"settings", {{"preemption", "swap_host"}}}}), "");
  EXPECT_NE(refusal({{"settings", {{"preemption", "swap_disk"}}}}).find("TMPDIR"),
            std::string::npos);
}

TEST_F(Serving, AMissingModelHidesNoMissingFile) {
  const testing::EnvironmentVariable data("REPRISE_DATA", ""),
      cache("XDG_CACHE_HOME", "/nowhere");  // hides what this user has fetched
  const Json models = {"checkpoints/llama-2-7b"};
  for (const auto& [file, problem] :
       {std::pair{"sharegpt_lengths.csv", "reprise data get sharegpt-lengths"},
        std::pair{"no/such.csv", "there is no file or folder no/such.csv"}}) {
    const std::string found =
        refusal({{"models", models}, {"workload", {{"name", "sharegpt"}, {"file", file}}}});
    EXPECT_NE(found.find("reprise data get llama-2-7b"), std::string::npos) << found;
    EXPECT_NE(found.find(problem), std::string::npos) << found;
    EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 1) << found;
  }
}

// The second of three requests is too long, the last one has length 0.
TEST_F(Serving, RecordedRequestsThatAreNotSentAreCounted) {
  const model::TempDir dir;
  const std::string file = dir.write("lengths.csv", "prompt,output\n9,4\n20,4\n0,4\n").string();
  const auto recorded = [&](const char* too_long) {
    Json changes = unshared(1, {{"requests", nullptr},
                                {"user_tokens", nullptr},
                                {"output_tokens", nullptr},
                                {"most_prompt_tokens", 10},
                                {"too_long", too_long}});
    changes["workload"] = {{"name", "lengths"}, {"file", file}};
    return measured(changes)[0].answers["recorded_requests"];
  };
  EXPECT_EQ(recorded("drop"),
            (Json{{"left_out_by_rule", 1}, {"left_out_too_long", 1}, {"cut", 0}}));
  EXPECT_EQ(recorded("cut"), (Json{{"left_out_by_rule", 1}, {"left_out_too_long", 0}, {"cut", 1}}));
  EXPECT_FALSE(measured()[0].answers.contains("recorded_requests"));
}

TEST_F(Serving, IsInterruptedBetweenSteps) {
  stop_ = true;
  const Group given = group();
  ServingKind kind(context_);
  EXPECT_THROW((void)measured_json(kind.measure(given, machine_of_json(machine_), stop_)),
               Interrupted);
}

}  // namespace
}  // namespace reprise::experiments
