// Runs prompts with a shared prefix on a tiny model, end to end: what is shared, and which methods
// reuse it.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"
#include "experiments/kinds/latency/decode.h"
#include "experiments/kinds/latency/ttft.h"
#include "experiments/kinds/shared/bench.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

const Json kReuse = {{"reuse_prefill", true}};
const Json kExactMethods = {"contiguous",      "paged",
                            "paged_shared",    {{"name", "paged_shared"}, {"options", kReuse}},
                            "chunk_attention", {{"name", "chunk_attention"}, {"options", kReuse}},
                            "relay_attention"};
constexpr int64_t kShared = 136, kPrompt = 144, kBatch = 3, kNew = 5, kRepetitions = 2;
constexpr PromptAxes kPrompts = {.prompt_tokens = kPrompt, .shared_tokens = kShared};

class SharedTokens : public KindOnTinyModel {
 protected:
  Group group(const std::string& kind, Json settings) const {
    settings["prefill_chunk"] = 32;
    return group_of({{"kind", kind},
                     {"methods", kExactMethods},
                     {"settings", settings},
                     {"repetitions", kRepetitions},
                     {"warmup", 1}});
  }
  Group decode_group() const {
    return group("decode", {{"batch", kBatch},
                            {"prompt_tokens", kPrompt},
                            {"shared_tokens", kShared},
                            {"new_tokens", kNew}});
  }
};

TEST_F(SharedTokens, PromptsBeginWithThePrefixAndGoOnByThemselves) {
  Bench bench(context_);
  const Group one = decode_group();
  const std::vector<int32_t> prefix = bench.prefix(one, kPrompts);
  const std::vector<int32_t> first = bench.prompt(one, kPrompts, 0),
                             second = bench.prompt(one, kPrompts, 1);
  ASSERT_EQ(prefix.size(), static_cast<size_t>(kShared));
  for (const auto& prompt : {first, second}) {
    ASSERT_EQ(prompt.size(), static_cast<size_t>(kPrompt));
    EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), prompt.begin()));
  }
  EXPECT_NE(first, second);
  Group other = one;
  other.seeds.prompts = 2;
  EXPECT_NE(bench.prefix(other, kPrompts), prefix);
}

TEST_F(SharedTokens, TextIsSharedTheSameWay) {
  Bench bench(context_);
  Group one = decode_group();
  one.model.model = "models/quickstart";
  one.workload = {.name = "text_prompts", .file = "models/quickstart/sample.txt"};
  const std::vector<int32_t> prefix = bench.prefix(one, kPrompts);
  const std::vector<int32_t> first = bench.prompt(one, kPrompts, 0);
  ASSERT_EQ(first.size(), static_cast<size_t>(kPrompt));
  EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), first.begin()));
}

TEST_F(SharedTokens, NoneLeavesPromptsAsTheWorkloadDrawsThem) {
  Bench bench(context_);
  const Group one = group("ttft", {});
  const PromptAxes nine = {.prompt_tokens = 9}, twenty = {.prompt_tokens = 20};
  EXPECT_TRUE(bench.prefix(one, nine).empty());
  const std::vector<int32_t> first = bench.prompt(one, nine, 3),
                             second = bench.prompt(one, twenty, 3);
  ASSERT_EQ(first.size(), 9u);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin()));
}

TEST_F(SharedTokens, PrefixLongerThanThePromptNamesTheFix) {
  for (const char* name : {"ttft", "decode"}) {
    const auto kind = make_kind(name, context_);
    EXPECT_NO_THROW(kind->check(group(name, {{"prompt_tokens", 8}, {"shared_tokens", 8}})));
    try {
      kind->check(group(name, {{"prompt_tokens", 8}, {"shared_tokens", 9}}));
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("--set settings.prompt_tokens=9"), std::string::npos)
          << error.what();
    }
  }
}

TEST_F(SharedTokens, EveryExactMethodGeneratesTheSameTokens) {
  const Group one = decode_group();
  DecodeKind kind(context_);
  kind.check(one);
  const auto measured = measured_json(kind.measure(one, Machine(), stop_));
  ASSERT_EQ(measured.size(), kExactMethods.size());
  for (size_t m = 0; m < measured.size(); ++m) {
    EXPECT_EQ(measured[m].answers["generated_tokens"], kRepetitions * kBatch * kNew);
    EXPECT_EQ(measured[m].answers["tokens_hash"], measured[0].answers["tokens_hash"])
        << label_of(one.methods[m]);
    EXPECT_EQ(measured[m].answers["compared_with"], "contiguous");
  }
}

TEST_F(SharedTokens, MethodsReuseWhatTheyPromise) {
  const Group one = decode_group();
  DecodeKind kind(context_);
  const Json machine = {{"limits", {{"f32_gflop_s", 100.0}}}};
  const auto measured = measured_json(kind.measure(one, machine_of_json(machine), stop_));
  // Batches that lost their cores were measured again, and their reused tokens count too.
  const auto batches = [&](size_t method) {
    return kRepetitions + 1 + measured[method].core_use["retaken"].get<int64_t>();
  };
  EXPECT_EQ(value_of(measured[6], "reused_tokens"),
            batches(6) * kBatch * kShared);  // relay: all of them
  EXPECT_EQ(value_of(measured[2], "reused_tokens"), 0);
  EXPECT_EQ(value_of(measured[4], "reused_tokens"), 0);
  // The others reuse what the first sequence of a batch has computed, as far as whole blocks go.
  EXPECT_EQ(value_of(measured[3], "reused_tokens"), batches(3) * (kBatch - 1) * 128);
  EXPECT_GE(value_of(measured[5], "reused_tokens"), batches(5) * (kBatch - 1) * 128);
  for (size_t m = 0; m < measured.size(); ++m) {
    const Measured& method = measured[m];
    EXPECT_EQ(value_of(method, "prompt_tokens_total"), batches(m) * kBatch * kPrompt);
    EXPECT_GE(value_of(method, "prefix_ms"), 0);
    EXPECT_GT(value_of(method, "compute_limit_ratio"), 0);
  }
  for (const size_t sharing : {2u, 3u, 4u, 5u, 6u})
    EXPECT_LT(value_of(measured[sharing], "kv_mb"), value_of(measured[1], "kv_mb"))
        << label_of(one.methods[sharing]);
}

TEST_F(SharedTokens, TtftOfRelayLeavesThePrefixOut) {
  const Group one = group("ttft", {{"prompt_tokens", kPrompt}, {"shared_tokens", kShared}});
  TtftKind kind(context_);
  const Json machine = {{"limits", {{"f32_gflop_s", 100.0}}}};
  const auto measured = measured_json(kind.measure(one, machine_of_json(machine), stop_));
  EXPECT_EQ(value_of(measured[6], "reused_tokens"),
            (kRepetitions + 1 + measured[6].core_use["retaken"].get<int64_t>()) * kShared);
  EXPECT_EQ(measured[6].answers["tokens_hash"], measured[0].answers["tokens_hash"]);
  EXPECT_TRUE(measured[0].metrics.contains("compute_limit_ratio"));
  EXPECT_FALSE(measured[6].metrics.contains("compute_limit_ratio"));
}

TEST(MethodLabel, HasTheOptionsThatAreSet) {
  EXPECT_EQ(label_of(MethodChoice{.name = "paged"}), "paged");
  EXPECT_EQ(label_of(MethodChoice{.name = "paged_shared", .options = fields_of(kReuse)}),
            "paged_shared {\"reuse_prefill\":true}");
}

}  // namespace
}  // namespace reprise::experiments
