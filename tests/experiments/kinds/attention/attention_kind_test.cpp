// Tests kind "attention" end to end on tiny shapes: sound metrics, agreeing outputs, errors.
#include "experiments/kinds/attention/attention_kind.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "experiments/kinds/attention/attention_problem.h"
#include "results/statistics.h"
#include "tests/experiments/kinds/attention/attention_group.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

const Json kSmall = {
    {"batch", 3},          {"heads", 4},           {"kv_heads", 2},         {"head_dim", 16},
    {"prompt_tokens", 40}, {"shared_percent", 50}, {"completion_tokens", 6}};
const Json kMachine = {
    {"limits", {{"dram_read_gb_s", 50.0}, {"f32_gflop_s", 100.0}, {"bf16_gflop_s", 200.0}}}};

class AttentionKindTest : public ::testing::Test {
 protected:
  std::vector<Measured> measure(const Group& group) {
    AttentionKind kind(kTwoThreads);
    kind.check(group);
    return measured_json(kind.measure(group, machine_of_json(kMachine), stop_));
  }
  std::string refusal(const Group& group) {
    try {
      AttentionKind(kTwoThreads).check(group);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  std::atomic<bool> stop_ = false;
};

TEST_F(AttentionKindTest, MeasuresEveryMethodAndOutputsAgree) {
  for (const char* dtype : {"f32", "bf16", "f16"}) {
    const auto measured = measure(attention_group(kSmall, {"contiguous", "recompute"}, dtype));
    ASSERT_EQ(measured.size(), 2u);
    for (const Measured& method : measured) {
      EXPECT_EQ(method.samples["latency_us"].size(), 3u);
      EXPECT_GT(value_of(method, "latency_us"), 0);
      EXPECT_GT(value_of(method, "tokens_per_s"), 0);
      EXPECT_GT(value_of(method, "private_us"), 0);
      EXPECT_LE(method.answers["rounding_bound_share"].get<double>(), 1.0);
      EXPECT_GT(method.answers["rounding_bound_share"].get<double>(), 0.0);
      EXPECT_EQ(method.answers.contains("f32_shadow_bound_share"), std::string(dtype) != "f32");
      EXPECT_LE(method.answers.value("f32_shadow_bound_share", 1.0), 1.0);
      EXPECT_LT(method.answers["relative_error"].get<double>(), 0x1p-6);
      EXPECT_LT(method.answers["max_difference"].get<double>(), 0x1p-6);
      EXPECT_EQ(method.resolved["shared_tokens"], 20);
      EXPECT_TRUE(method.metrics.contains("plan_limit_ratio"));
    }
    EXPECT_EQ(value_of(measured[0], "speedup"), 1.0);
    EXPECT_EQ(value_of(measured[0], "step_speedup"), 1.0);
    EXPECT_GT(value_of(measured[1], "step_us"), value_of(measured[1], "latency_us"));
    EXPECT_TRUE(measured[1].metrics["tokens_per_s"].contains("q1"));
    const bool first_is_best =
        value_of(measured[0], "latency_us") <= value_of(measured[1], "latency_us");
    EXPECT_EQ(value_of(measured[first_is_best ? 0 : 1], "best_ratio"), 1.0);
  }
}

// Some metrics need runs that take as long as the steps themselves: reads in the kernel's order,
// and the parts one by one. So these are timed only for metrics that are asked for.
TEST_F(AttentionKindTest, WhatTakesTimeOfItsOwnIsTakenWhereItIsAskedFor) {
  Json settings = kSmall;
  settings["completion_tokens"] = 1;
  const auto taken = [&](const Json& metrics) {
    const auto measured =
        measure(attention_group(settings, {"contiguous", "relay_attention"}, "f32", metrics));
    std::vector<std::string> names;
    for (const Measured& method : measured)
      for (const char* name :
           {"private_us", "shared_us", "merge_us", "stream_ratio", "stream_gb_s"})
        if (method.metrics.contains(name)) names.emplace_back(name);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(taken({"latency_us", "plan_beside_ratio"}), Names{});
  EXPECT_EQ(taken({"merge_us"}), Names{"merge_us"}) << "of relay_attention alone";
  EXPECT_EQ(taken({"stream_gb_s"}), (Names{"stream_gb_s", "stream_gb_s"}));
  EXPECT_EQ(taken({"private_us", "shared_us"}), (Names{"private_us", "private_us", "shared_us"}));
  EXPECT_EQ(taken({}).size(), 8u);
}

// If a plan consists of one private part, one measured time serves private_us and stream_ratio.
TEST_F(AttentionKindTest, AnUnsharedPlanIsTimedOnceForBothItsMetrics) {
  Json settings = kSmall;
  settings["completion_tokens"] = 1;
  Group group = attention_group(settings, {"contiguous"}, "f32",
                                {"private_us", "stream_ratio", "stream_gb_s", "read_mb"});
  group.repetitions = 1;
  const Measured measured = measure(group)[0];
  const double stream_us = value_of(measured, "read_mb") * 1e3 / value_of(measured, "stream_gb_s");
  EXPECT_NEAR(value_of(measured, "stream_ratio") * value_of(measured, "private_us"), stream_us,
              1e-9 * stream_us);
}

// Results that do not depend on time are the same, whichever methods are measured together.
TEST_F(AttentionKindTest, GroupsInTurnAreMeasuredAsAlone) {
  Json settings = kSmall;
  settings["completion_tokens"] = 1;
  const Group one = attention_group(kSmall, {"paged", "relay_attention"}, "f32");
  const Group other = attention_group(settings, {"paged", "relay_attention"}, "f32");
  const Group* const groups[] = {&one, &other};
  AttentionKind kind(kTwoThreads);
  std::vector<std::vector<Measured>> in_turn;
  for (const auto& of_group : kind.measure_in_turn(groups, machine_of_json(kMachine), stop_))
    in_turn.push_back(measured_json(of_group));
  ASSERT_EQ(in_turn.size(), 2u);
  for (size_t g = 0; g < 2; ++g) {
    const auto alone = measure(*groups[g]);
    ASSERT_EQ(in_turn[g].size(), alone.size());
    for (size_t m = 0; m < alone.size(); ++m) {
      EXPECT_EQ(in_turn[g][m].answers, alone[m].answers);
      EXPECT_EQ(in_turn[g][m].samples["latency_us"].size(), 3u);
      for (const char* metric : {"mflop", "read_mb", "useful_mb", "relay_theory_speedup"})
        EXPECT_EQ(in_turn[g][m].metrics[metric], alone[m].metrics[metric]) << metric;
    }
  }
}

TEST_F(AttentionKindTest, CostsAreThoseOfTheMiddleOfTheSteps) {
  // Three samples of six steps lie at steps 1, 3 and 5: 42, 44 and 46 keys.
  const auto measured = measure(attention_group(kSmall));
  EXPECT_DOUBLE_EQ(value_of(measured[0], "mflop"), 4e-6 * 3 * 4 * 16 * 44);
  EXPECT_DOUBLE_EQ(value_of(measured[0], "read_mb"), 1e-6 * 3 * 44 * 2 * 2 * 16 * 4);
  EXPECT_DOUBLE_EQ(value_of(measured[0], "useful_mb"), 1e-6 * (20 + 3 * 24) * 2 * 2 * 16 * 4);
  EXPECT_DOUBLE_EQ(value_of(measured[0], "io_bound_speedup"), 3 * 44.0 / (20 + 3 * 24));
}

// Steps of 9 and of 60 keys differ in their times. The machine once counted as busy because of
// this.
TEST_F(AttentionKindTest, TheGrowthOfSequencesIsNoNoise) {
  Json settings = kSmall;
  settings.update({{"prompt_tokens", 8}, {"shared_tokens", 0}, {"completion_tokens", 64}});
  const auto measured = [&] {
    AttentionKind kind(kTwoThreads);
    return kind.measure(attention_group(settings), Machine(), stop_).at(0).metrics;
  };
  const results::Metrics grows = measured();
  EXPECT_GT(grows.at("mflop").spread->iqr(), 0.25 * grows.at("mflop").value);
  for (const char* metric : {"mflop", "read_mb", "useful_mb", "latency_us", "tokens_per_s"})
    EXPECT_FALSE(results::is_noisy(grows.at(metric))) << metric;
  for (const char* metric : {"gflop_s", "read_gb_s", "problem_beside_ratio", "plan_beside_ratio"})
    EXPECT_TRUE(grows.at(metric).is_population) << metric;
  settings["completion_tokens"] = 1;
  EXPECT_FALSE(measured().at("latency_us").is_population);
}

TEST_F(AttentionKindTest, LinearLayersAreTimedWhereTheLayerHasAWidth) {
  Json settings = kSmall;
  EXPECT_FALSE(measure(attention_group(settings))[0].metrics.contains("qkv_us"));
  settings.update({{"hidden", 32}, {"intermediate", 48}});
  const auto measured = measure(attention_group(settings));
  EXPECT_GT(value_of(measured[0], "qkv_us"), 0);
  EXPECT_GT(value_of(measured[0], "mlp_us"), 0);
  EXPECT_DOUBLE_EQ(value_of(measured[0], "mlp_mflop"), 2e-6 * 3 * 3 * 32 * 48);
}

TEST_F(AttentionKindTest, WithoutLimitsOfTheMachineTheirRatiosAreLeftOut) {
  const auto measured =
      measured_json(AttentionKind(kTwoThreads).measure(attention_group(kSmall), Machine(), stop_));
  EXPECT_FALSE(measured[0].metrics.contains("plan_limit_ratio"));
  EXPECT_TRUE(measured[0].metrics.contains("plan_beside_ratio"));
}

// The need is that of contiguous keys and values: 32 heads of 128 in f32, for all tokens and the
// one that the step adds.
TEST_F(AttentionKindTest, MemoryIsThatOfTheCachesAndNoMachineIsAskedForIt) {
  AttentionKind kind(kTwoThreads);
  const Group group = attention_group({{"batch", 4096}, {"prompt_tokens", 1 << 20}});
  EXPECT_NO_THROW(kind.check(group));
  const MemoryNeed need = kind.memory_need(group);
  const double least = 4096.0 * ((1 << 20) + 1) * 2 * 32 * 128 * 4;
  EXPECT_GE(need.bytes, least);
  EXPECT_LE(need.bytes, 1.01 * least);
  EXPECT_NE(need.of_what.find("4096 sequences"), std::string::npos) << need.of_what;
}

TEST_F(AttentionKindTest, MemoryOfTheLinearLayersIsNamedBesideThatOfTheCaches) {
  const auto need_with = [](const Json& changes) {
    Json settings = kSmall;
    settings.update(changes);
    return AttentionKind(kTwoThreads).memory_need(attention_group(settings)).of_what;
  };
  const std::string without = need_with(Json::object());
  const std::string with = need_with({{"hidden", 64}, {"intermediate", 4096}});
  EXPECT_EQ(without.find("linear layers"), std::string::npos) << without;
  EXPECT_EQ(with.substr(0, without.size()), without);
  EXPECT_NE(with.find("GiB for the linear layers"), std::string::npos) << with;
}

// The authors' grid of 252 points must not be refused as a whole because its largest point is too
// large.
TEST_F(AttentionKindTest, EveryPointOfThePapersGridHasItsNeed) {
  const Experiment experiment = load_experiment(
      std::filesystem::path(REPRISE_SOURCE_DIR) / "experiments/relay_attention/operator_grid.json",
      "paper", {}, known_vocabulary());
  AttentionKind kind(kTwoThreads);
  const auto groups = expand(experiment, {.context = kTwoThreads});
  ASSERT_EQ(2 * groups.size(), 252u);
  double least = 1e30, most = 0;
  for (const Group& group : groups) {
    EXPECT_NO_THROW(kind.check(group)) << group.label;
    const double bytes = kind.memory_need(group).bytes;
    EXPECT_GT(bytes, 0) << group.label;
    least = std::min(least, bytes);
    most = std::max(most, bytes);
  }
  EXPECT_LT(least, 1e9);
  EXPECT_GT(most, 30e9);
}

TEST_F(AttentionKindTest, HalfAWidthAndLinearLayersInF16AreRefused) {
  Json settings = kSmall;
  settings["hidden"] = 32;
  EXPECT_NE(refusal(attention_group(settings)).find("intermediate is 0"), std::string::npos);
  settings["intermediate"] = 32;
  EXPECT_NE(refusal(attention_group(settings, {"contiguous"}, "f16")).find("kv_dtype"),
            std::string::npos);
}

TEST_F(AttentionKindTest, ModelsAreRefused) {
  const Json file = {{"name", "t"},
                     {"title", "t"},
                     {"kind", "attention"},
                     {"models", {"llama-2-7b"}},
                     {"methods", {"contiguous"}}};
  try {
    (void)parse_experiment(file, "t.json", "desk", {}, known_vocabulary());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("runs no model"), std::string::npos) << error.what();
  }
}

TEST_F(AttentionKindTest, RaisedStopGivesTheGroupUp) {
  stop_ = true;
  EXPECT_THROW((void)measure(attention_group(kSmall)), Interrupted);
}

// Checks the shipped experiments with the registered methods, at every scale; nothing is measured.
TEST(ShippedAttentionExperiments, DescribePossibleProblems) {
  int files = 0;
  const std::filesystem::path folder = std::filesystem::path(REPRISE_SOURCE_DIR) / "experiments";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    for (const char* scale : {"smoke", "desk", "paper"}) {
      const Experiment experiment = load_experiment(entry.path(), scale, {}, known_vocabulary());
      if (experiment.kind.name != "attention") continue;
      ++files;
      for (const Group& group : expand(experiment, {.context = kTwoThreads}))
        EXPECT_NO_THROW((void)attention_problem(group)) << entry.path() << " at scale " << scale;
    }
  }
  EXPECT_GE(files, 3 * 7);
}

TEST(StepOfSample, SpreadsSamplesEvenly) {
  EXPECT_EQ(step_of_sample(0, 5, 1), 0);
  EXPECT_EQ(step_of_sample(4, 5, 1), 0);
  EXPECT_EQ(step_of_sample(0, 2, 100), 25);
  EXPECT_EQ(step_of_sample(1, 2, 100), 75);
  for (int64_t s = 0; s < 4; ++s) EXPECT_EQ(step_of_sample(s, 4, 4), s);
}

}  // namespace
}  // namespace reprise::experiments
