// Tests Prompt Cache in kind "ttft", where the shared tokens are modules.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "experiments/kinds/latency/ttft.h"
#include "experiments/kinds/shared/costs.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

class PromptCacheKind : public KindOnTinyModel {
 protected:
  Group group(const Json& settings, const Json& methods) const {
    return group_of({{"kind", "ttft"},
                     {"methods", methods},
                     {"settings", settings},
                     {"repetitions", 3},
                     {"warmup", 1}});
  }
  static Json copying(const char* mode) {
    return {{"name", "prompt_cache"}, {"options", {{"mode", mode}, {"copies", true}}}};
  }
  std::string refusal(const Json& settings, const Json& methods = {"prompt_cache"}) {
    TtftKind kind(context_);
    try {
      kind.check(group(settings, methods));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(PromptCacheKind, OneModuleInFrontIsAPrefixAndGivesTheSameTokens) {
  TtftKind kind(context_);
  const Group one = group({{"prompt_tokens", 40}, {"fresh_tokens", 5}, {"new_tokens", 4}},
                          {"contiguous", "prompt_cache", copying("joint"), copying("scaffold")});
  kind.check(one);
  const auto measured = measured_json(kind.measure(one, Machine(), stop_));
  ASSERT_EQ(measured.size(), 4u);
  for (const Measured& method : measured) {
    EXPECT_EQ(method.answers["equal_token_ratio"], 1.0);
    EXPECT_EQ(method.samples["ttft_ms"].size(), 3u);
  }
  EXPECT_FALSE(measured[0].metrics.contains("ttft_speedup"));
  EXPECT_FALSE(measured[0].metrics.contains("lookup_ms"));
  for (size_t m = 1; m < 4; ++m) {
    const Json& metrics = measured[m].metrics;
    EXPECT_EQ(metrics["ttft_speedup"]["count"], 3);
    EXPECT_EQ(metrics["reused_tokens"]["value"].get<double>() / 35,
              metrics["prompt_tokens_total"]["value"].get<double>() / 40);
    EXPECT_EQ(metrics["copied_mb"]["value"].get<double>() > 0, m > 1);
    EXPECT_GT(metrics["module_mb"]["value"].get<double>(), 0);
    EXPECT_GT(metrics["prefix_ms"]["value"].get<double>(), 0);
    // The parts add up to the whole.
    for (size_t r = 0; r < 3; ++r) {
      double sum = 0;
      for (const char* part : {"lookup_ms", "copy_ms", "repair_ms", "compute_ms"})
        sum += measured[m].samples[part][r].get<double>();
      EXPECT_NEAR(sum, measured[m].samples["ttft_ms"][r].get<double>(), 1e-9);
    }
  }
}

// For modules of plain tokens no scaffold is declared, so the paper's mode isolates them. [Prompt
// Cache §3.3]
TEST_F(PromptCacheKind, WithoutAScaffoldItsModeIsIsolated) {
  TtftKind kind(context_);
  const Group one = group({{"prompt_tokens", 40}, {"shared_tokens", 33}, {"modules", 4}},
                          {copying("isolated"), copying("scaffold"), copying("joint")});
  kind.check(one);
  const auto measured = measured_json(kind.measure(one, Machine(), stop_));
  EXPECT_EQ(measured[1].answers["equal_token_ratio"], 1.0);
  EXPECT_EQ(measured[1].metrics["module_mb"]["value"], measured[0].metrics["module_mb"]["value"]);
  EXPECT_EQ(measured[1].resolved["exactness"], "approximate");
}

TEST_F(PromptCacheKind, SeveralModulesAreMarkedApproximateAndRepairIsCounted) {
  TtftKind kind(context_);
  const Group one =
      group({{"prompt_tokens", 40}, {"shared_tokens", 33}, {"modules", 4}},
            {"contiguous",
             "prompt_cache",
             {{"name", "prompt_cache"}, {"options", {{"mode", "repair"}, {"repair_ratio", 0.5}}}}});
  kind.check(one);
  const auto measured = measured_json(kind.measure(
      one, machine_of_json({{"limits", {{"dram_gb_s", 10.0}, {"f32_gflop_s", 100.0}}}}), stop_));
  EXPECT_EQ(measured[0].resolved["exactness"], "exact");
  EXPECT_EQ(measured[1].resolved["exactness"], "approximate");
  EXPECT_EQ(measured[1].metrics["repair_ms"]["value"], 0.0);
  EXPECT_GT(measured[2].metrics["repair_ms"]["value"].get<double>(), 0);
}

// The logits for the first new token come from a computed token. So if a prompt consists of its
// prefix alone, the prefix's last token is not imported.
TEST_F(PromptCacheKind, PromptsThatAreSharedWholeOrNotAtAllGiveTheSameTokens) {
  TtftKind kind(context_);
  for (const int shared : {40, 0}) {
    const Group one = group({{"prompt_tokens", 40}, {"shared_tokens", shared}, {"new_tokens", 4}},
                            {"contiguous", "prompt_cache", copying("joint")});
    kind.check(one);
    const auto measured = measured_json(kind.measure(one, Machine(), stop_));
    for (size_t m = 1; m < 3; ++m) {
      EXPECT_EQ(measured[m].answers["equal_token_ratio"], 1.0) << shared;
      EXPECT_EQ(measured[m].metrics["reused_tokens"]["value"].get<double>(),
                measured[m].metrics["prompt_tokens_total"]["value"].get<double>() / 40 *
                    (shared == 0 ? 0 : 39));
    }
  }
}

// All lanes hold their caches and modules at the same time. Modules in memory count once, and once
// more if a request copies them; the cache beside them counts without the modules' tokens. Modules
// in files do not count, and the cache beside them counts whole.
TEST_F(PromptCacheKind, MemoryNeedCountsTheModulesOfEveryLane) {
  TtftKind kind(context_);
  const auto need = [&](const Json& methods) {
    return kind.memory_need(group({{"prompt_tokens", 40}, {"fresh_tokens", 5}}, methods)).bytes;
  };
  const Json disk = {{"name", "prompt_cache"}, {"options", {{"tier", "disk"}}}};
  const double one = need({"contiguous"}), two = need({"contiguous", "recompute"});
  const double modules =
      35.0 * static_cast<double>(kv_bytes_per_token(
                 Bench::config(group(Json::object(), {"contiguous"})), DType::kF32));
  const double rest = two - one - modules;  // a cache without the modules' tokens
  EXPECT_GT(rest, 0);
  EXPECT_EQ(need({"contiguous", "prompt_cache"}), one + modules + rest);
  EXPECT_EQ(need({"contiguous", copying("isolated")}), one + 2 * modules + rest);
  EXPECT_EQ(need({"contiguous", copying("scaffold")}), one + 2 * modules + rest);
  EXPECT_EQ(need({"contiguous", "prompt_cache", copying("isolated")}),
            one + 3 * modules + 2 * rest);
  EXPECT_EQ(need({"contiguous", disk}), two);
}

TEST_F(PromptCacheKind, WhatCannotBeIsRefusedBeforeAnythingIsMeasured) {
  EXPECT_NE(refusal({{"prompt_tokens", 40}, {"fresh_tokens", 4}},
                    {{{"name", "prompt_cache"}, {"options", {{"tier", "device"}}}}})
                .find("--device cuda"),
            std::string::npos);
  EXPECT_NE(
      refusal({{"prompt_tokens", 40}, {"fresh_tokens", 41}}).find("prompt_tokens to at least 41"),
      std::string::npos);
  EXPECT_NE(refusal({{"prompt_tokens", 40}, {"fresh_tokens", 4}, {"shared_tokens", 30}})
                .find("give one of them"),
            std::string::npos);
  EXPECT_NE(
      refusal({{"prompt_tokens", 40}, {"fresh_tokens", 30}, {"modules", 11}}).find("modules is 11"),
      std::string::npos);
  EXPECT_EQ(refusal({{"prompt_tokens", 40}, {"fresh_tokens", 30}, {"modules", 10}}), "");
  for (const Json& options : {Json{{"mode", "isolatd"}}, Json{{"cache", "attn_cache"}}})
    EXPECT_THROW(group({{"prompt_tokens", 40}, {"fresh_tokens", 4}},
                       {{{"name", "prompt_cache"}, {"options", options}}}),
                 Error);
}

}  // namespace
}  // namespace reprise::experiments
