// Tests kinds "ttft" and "decode" on a tiny model with random weights: valid records, and equal
// tokens of exact methods.
#include "experiments/kinds/latency/ttft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/base/problems.h"
#include "experiments/kinds/latency/decode.h"
#include "experiments/kinds/shared/costs.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/support/busy_thread.h"
#include "tests/support/environment.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

class KindsTest : public KindOnTinyModel {
 protected:
  Group group(const std::string& kind, const Json& settings,
              const Json& methods = {"recompute", "contiguous"}) const {
    return group_of(
        {{"kind", kind}, {"methods", methods}, {"settings", settings}, {"repetitions", 3}});
  }
};

TEST(Derived, RateHasTheSpreadOfItsTime) {
  const MetricInfo time_ms = {"time_ms", "ms", ""}, rate = {"rate", "1/s", ""};
  Measurement out;
  out.sample(time_ms, {1.0, 2.0, 4.0, 5.0, 10.0});
  out.derive(rate, time_ms, [](double ms) { return 1000 / ms; });
  const results::Metric& made = out.metrics.at("rate");
  EXPECT_EQ(made.value, 250.0);
  ASSERT_TRUE(made.spread);
  EXPECT_EQ(made.spread->q1, 200.0);
  EXPECT_EQ(made.spread->q3, 500.0);
  EXPECT_EQ(made.spread->min, 100.0);
  EXPECT_EQ(made.spread->max, 1000.0);
  EXPECT_EQ(made.spread->iqr(), 300.0);
  EXPECT_EQ(made.spread->count, 5);
  Measurement plain;
  plain.set(time_ms, 4.0);
  plain.derive(rate, time_ms, [](double ms) { return 1000 / ms; });
  EXPECT_FALSE(plain.metrics.at("rate").spread);
}

TEST_F(KindsTest, TtftStandsBesideTheLeastTimeOfTheProbeAndOfTheMoment) {
  const Group one = group("ttft", {{"prompt_tokens", 40}}, {"contiguous"});
  const Json limits = {{"dram_read_gb_s", 10.0}, {"f32_gflop_s", 100.0}};
  // Weights that do not fit into the L3 are read from memory.
  const auto from_memory = measured_json(TtftKind(context_).measure(
      one, machine_of_json({{"limits", limits}, {"l3_bytes", 1}}), stop_));
  const Json& metrics = from_memory[0].metrics;
  EXPECT_NEAR(
      metrics["ttft_over_limit"]["value"].get<double>(),
      metrics["ttft_ms"]["value"].get<double>() / metrics["ttft_limit_ms"]["value"].get<double>(),
      1e-9);
  EXPECT_GT(metrics["ttft_over_beside"]["value"].get<double>(), 0);
  EXPECT_EQ(metrics["ttft_over_beside"]["count"], 3);
  const auto from_cache = measured_json(TtftKind(context_).measure(
      one, machine_of_json({{"limits", limits}, {"l3_bytes", 1 << 30}}), stop_));
  EXPECT_FALSE(from_cache[0].metrics.contains("ttft_over_beside"));
}

// The warm-up fills the cache of the method that retains requests, and the other method's prefix is
// there before the first request. So the timed requests of both reuse the same tokens.
TEST_F(KindsTest, TtftLimitIsThatOfWhatTheTimedRequestsReused) {
  const Json retains = {{"name", "chunk_attention"},
                        {"options", {{"retain", true}, {"reuse_prefill", true}}}};
  Group one = group("ttft", {{"prompt_tokens", 160}, {"shared_tokens", 128}},
                    Json::array({"relay_attention", retains}));
  one.warmup = one.repetitions = 1;
  const Json limits = {{"dram_read_gb_s", 10.0}, {"f32_gflop_s", 100.0}};
  const auto measured =
      measured_json(TtftKind(context_).measure(one, machine_of_json({{"limits", limits}}), stop_));
  EXPECT_EQ(measured[0].metrics["ttft_limit_ms"], measured[1].metrics["ttft_limit_ms"]);
}

// Requests that lose their core are not submitted again, because the cache would answer them.
TEST_F(KindsTest, ACacheThatRetainsRequestsSeesEachOfThemOnce) {
  const Json retains = {{"name", "chunk_attention"},
                        {"options", {{"retain", true}, {"reuse_prefill", true}}}};
  const Context one_thread{.threads = 1, .isa = best_isa()};
  int64_t disturbed = 0;
  const auto measure = [&](Kind& kind, const std::string& name) {
    const Group one =
        group(name, {{"prompt_tokens", 1024}, {"new_tokens", 4}}, Json::array({retains}));
    reprise::testing::beside_a_busy_thread([&] {
      const results::CoreUses uses = kind.measure(one, Machine(), stop_).at(0).core_use.value();
      EXPECT_EQ(uses.retaken, 0) << name;
      disturbed += uses.disturbed;
    });
  };
  TtftKind ttft(one_thread);
  DecodeKind decode(one_thread);
  measure(ttft, "ttft");
  measure(decode, "decode");
  if (disturbed == 0) GTEST_SKIP() << "no request lost its core";
}

// Each method keeps the memory of its cache while the others have their turn.
TEST_F(KindsTest, MethodsThatTakeTurnsNeedACacheEach) {
  const Json settings = {{"prompt_tokens", 64}, {"new_tokens", 4}};
  const auto bytes = [&](Kind& kind, const std::string& name, const Json& methods) {
    return kind.memory_need(group(name, settings, methods)).bytes;
  };
  TtftKind ttft(context_);
  DecodeKind decode(context_);
  for (const auto& [kind, name] :
       {std::pair<Kind*, std::string>{&ttft, "ttft"}, {&decode, "decode"}}) {
    const double one = bytes(*kind, name, {"contiguous"});
    const double two = bytes(*kind, name, {"contiguous", "paged"});
    const double three = bytes(*kind, name, {"contiguous", "paged", "chunk_attention"});
    EXPECT_GT(two, one);
    EXPECT_EQ(three - two, two - one);
  }
}

TEST_F(KindsTest, TtftMeasuresEveryRepetitionAndExactMethodsAgree) {
  TtftKind kind(context_);
  const Group one =
      group("ttft", {{"prompt_tokens", 40}, {"new_tokens", 4}, {"prefill_chunk", 16}});
  kind.check(one);
  const auto measured = measured_json(kind.measure(one, Machine(), stop_));
  ASSERT_EQ(measured.size(), 2u);
  for (const Measured& method : measured) {
    EXPECT_EQ(method.samples["ttft_ms"].size(), 3u);
    EXPECT_EQ(method.samples["tpot_ms"].size(), 3u);
    EXPECT_EQ(method.answers["generated_tokens"], 12);
    EXPECT_GT(method.metrics["prefill_gflop_s"]["value"].get<double>(), 0);
    EXPECT_TRUE(method.metrics["prefill_tokens_per_s"].contains("q1"));
    EXPECT_EQ(method.answers["equal_token_ratio"], 1.0);
  }
  EXPECT_EQ(measured[0].answers["tokens_hash"], measured[1].answers["tokens_hash"]);
}

TEST_F(KindsTest, TokensAreTheSameInEveryRun) {
  const Group one = group("ttft", {{"prompt_tokens", 9}, {"new_tokens", 3}});
  TtftKind first(context_), second(context_);
  EXPECT_EQ(measured_json(first.measure(one, Machine(), stop_))[1].answers,
            measured_json(second.measure(one, Machine(), stop_))[1].answers);
}

TEST_F(KindsTest, DecodeMeasuresStepsOfTheWholeBatch) {
  DecodeKind kind(context_);
  const Group one = group("decode", {{"batch", 3}, {"prompt_tokens", 10}, {"new_tokens", 6}});
  const auto measured = measured_json(kind.measure(one, Machine(), stop_));
  ASSERT_EQ(measured.size(), 2u);
  for (const Measured& method : measured) {
    EXPECT_GE(method.samples["step_ms"].size(), 3u);
    EXPECT_EQ(method.answers["generated_tokens"], 3 * 3 * 6);
    EXPECT_GT(method.metrics["decode_tokens_per_s"]["value"].get<double>(), 0);
  }
  EXPECT_EQ(measured[0].answers["tokens_hash"], measured[1].answers["tokens_hash"]);
}

// Two layers of six experts, of which a token passes two.
TEST_F(KindsTest, DecodeCountsTheExpertsThatAStepReads) {
  Json config = read_json(dir_ / "config.json");
  config.update({{"model_type", "qwen2_moe"},
                 {"num_experts", 6},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 24},
                 {"shared_expert_intermediate_size", 32}});
  std::ofstream(dir_ / "config.json") << config.dump();
  DecodeKind kind(context_);
  for (const int64_t batch : {1, 8}) {
    const Group one = group("decode", {{"batch", batch}, {"prompt_tokens", 10}, {"new_tokens", 6}},
                            {"contiguous"});
    const Json metrics = measured_json(kind.measure(one, Machine(), stop_))[0].metrics;
    const double touched = metrics["touched_experts"]["value"];
    EXPECT_GE(touched, 2 * 2);
    EXPECT_LE(touched, batch == 1 ? 2 * 2 : 2 * 6);
    EXPECT_EQ(
        metrics["streamed_bytes_per_step"]["value"],
        decode_bytes(Bench::config(one), DType::kF32, DType::kF32,
                     {.batch = batch, .context = 13, .touched_experts = std::llround(touched)}));
  }
}

// Two prompts of 33 tokens in steps of 13: the last token takes a step of its own.
TEST_F(KindsTest, DecodeStepsHoldTheWholeBatchWhateverTheLastStepOfThePrompts) {
  const Group one = group(
      "decode", {{"batch", 2}, {"prompt_tokens", 33}, {"new_tokens", 6}, {"prefill_chunk", 13}},
      {"contiguous"});
  DecodeKind kind(context_);
  const std::vector<Measured> measured = measured_json(kind.measure(one, Machine(), stop_));
  EXPECT_EQ(measured[0].samples["step_ms"].size(), 15u) << "five steps of three repetitions";
}

TEST_F(KindsTest, PromptBeyondTheModelIsRefusedBeforeMeasuring) {
  TtftKind kind(context_);
  Group one = group("ttft", {{"prompt_tokens", 512}, {"new_tokens", 2}});
  one.model.random_weights = false;
  EXPECT_THROW(kind.check(one), Error);
}

// Everything that would stop a later point is known before the first is measured.
TEST_F(KindsTest, EverythingWrongWithAGroupIsToldBeforeWeightsAreLoaded) {
  const auto problems_of = [&](const Group& one) {
    Problems problems;
    problems.collect([&] { TtftKind(context_).check(one); });
    return fmt::format("{}", fmt::join(problems.list(), "\n"));
  };
  Group one = group("ttft", {{"prompt_tokens", 8}, {"new_tokens", 2}});
  EXPECT_EQ(problems_of(one), "");
  one.dtype = DType::kF16;
  one.workload = {.name = "text_prompts", .file = (dir_ / "nowhere.txt").string()};
  one.methods.push_back({.name = "paged", .options = {{"block_tokens", 7}}});
  const std::string problems = problems_of(one);
  for (const char* part : {"dtype f16", "tokenizer.json", "block_tokens"})
    EXPECT_NE(problems.find(part), std::string::npos) << part << " not in: " << problems;

  Group trained = group("ttft", {{"prompt_tokens", 8}, {"new_tokens", 2}});
  trained.model.random_weights = false;
  EXPECT_NE(problems_of(trained).find("model.safetensors"), std::string::npos);
  std::filesystem::copy_file(REPRISE_SOURCE_DIR "/models/quickstart/model.safetensors",
                             dir_ / "model.safetensors");
  std::filesystem::resize_file(dir_ / "model.safetensors", 100000);
  EXPECT_NE(problems_of(trained).find("model.safetensors"), std::string::npos);
  trained.model.model = "quikstart";
  EXPECT_NE(problems_of(trained).find("did you mean \"quickstart\""), std::string::npos);
  trained.workload = {.name = "text_prompts", .file = "LongBench/data"};
  const reprise::testing::EnvironmentVariable data("REPRISE_DATA", ""),
      cache("XDG_CACHE_HOME", "/nowhere");  // hides what this user has fetched
  EXPECT_NE(problems_of(trained).find("did you mean \"quickstart\""), std::string::npos);
  EXPECT_NE(problems_of(trained).find("reprise data get longbench"), std::string::npos);
  trained.workload = group("ttft", {{"prompt_tokens", 8}, {"new_tokens", 2}}).workload;
  trained.model.model = "quickstart";
  EXPECT_EQ(problems_of(trained), "");
  Group encoder = group("ttft", {{"prompt_tokens", 8}, {"new_tokens", 2}});
  std::ofstream(dir_ / "config.json") << R"({"model_type": "bert", "vocab_size": 100,
    "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64,
    "max_position_embeddings": 64, "type_vocab_size": 2, "hidden_act": "gelu"})";
  EXPECT_NE(problems_of(encoder).find("no head"), std::string::npos);
  const model::TempDir headless;  // config.json alone does not tell that the head is missing
  headless.write("config.json", model::tiny_llama_config().dump());
  headless.write("model.safetensors", model::safetensors_of(model::headless_llama_tensors()));
  trained.model.model = headless.path().string();
  EXPECT_NE(problems_of(trained).find("lm_head.weight"), std::string::npos);
  trained.model.model = "quickstart";
  trained.workload = {.name = "text_prompts", .file = (dir_ / "nowhere.txt").string()};
  EXPECT_NE(problems_of(trained).find("nowhere.txt"), std::string::npos);
}

TEST_F(KindsTest, RandomWeightsAreTrainedForNoLength) {
  TtftKind kind(context_);
  EXPECT_NO_THROW(kind.check(group("ttft", {{"prompt_tokens", 512}, {"new_tokens", 2}})));
}

TEST_F(KindsTest, RaisedStopGivesTheGroupUp) {
  stop_ = true;
  TtftKind kind(context_);
  EXPECT_THROW(
      (void)measured_json(kind.measure(group("ttft", {{"prompt_tokens", 4}}), Machine(), stop_)),
      Interrupted);
}

}  // namespace
}  // namespace reprise::experiments
