// Tests kind "exactness" on a tiny model and on the shipped one.
#include "experiments/kinds/accuracy/exactness.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "experiments/kinds/shared/near_tie.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

constexpr int64_t kBatch = 3, kNew = 6, kRepetitions = 2;

class Exactness : public KindOnTinyModel {
 protected:
  Group group(const char* dtype, const Json& changes = Json::object()) const {
    const Json reuse = {{"reuse_prefill", true}};
    Json file = {{"kind", "exactness"},
                 {"dtypes", {dtype}},
                 {"methods",
                  {"paged",
                   {{"name", "paged_shared"}, {"options", reuse}},
                   {{"name", "chunk_attention"}, {"options", reuse}},
                   "relay_attention"}},
                 {"settings",
                  {{"batch", kBatch},
                   {"prompt_tokens", 90},
                   {"shared_tokens", 70},
                   {"new_tokens", kNew},
                   {"prefill_chunk", 32}}},
                 {"repetitions", kRepetitions}};
    file.merge_patch(changes);
    return group_of(file);
  }
  std::vector<Measured> measure(const Group& one) {
    ExactnessKind kind(context_);
    kind.check(one);
    return measured_json(kind.measure(one, Machine(), stop_));
  }
};

TEST_F(Exactness, MethodsGenerateTheSameInF32) {
  const Group one = group("f32");
  const auto measured = measure(one);
  ASSERT_EQ(measured.size(), one.methods.size());
  for (const Measured& method : measured) {
    EXPECT_EQ(value_of(method, "generations"), kRepetitions * kBatch);
    EXPECT_EQ(value_of(method, "compared_tokens"), kRepetitions * kBatch * kNew);
    EXPECT_EQ(value_of(method, "diverged"), 0);
    EXPECT_EQ(value_of(method, "unexplained"), 0);
    EXPECT_FALSE(method.metrics.contains("largest_tie_gap_ratio"));
    EXPECT_GT(value_of(method, "logit_scale"), 0);
    EXPECT_LT(value_of(method, "max_logit_difference"), 1e-4 * value_of(method, "logit_scale"));
    EXPECT_EQ(method.answers["divergences"], Json::array());
    EXPECT_EQ(method.answers["equal_token_ratio"], 1.0);
    EXPECT_EQ(method.answers["generated_tokens"], kRepetitions * kBatch * kNew);
    EXPECT_EQ(method.resolved["warmup"], 0);
  }
  for (const size_t sharing : {1U, 2U, 3U})
    EXPECT_GT(value_of(measured[sharing], "reused_tokens"), 0);
}

// In bf16, rounding moves logits, and the metrics must show it. A comparison of a run with itself
// would show nothing.
TEST_F(Exactness, Bf16DiffersMoreAndPartsAtNearTiesOnly) {
  const Group one = group("bf16", {{"settings", {{"new_tokens", 40}}}});
  const auto measured = measure(one);
  double largest = 0;
  int diverged = 0;
  for (const Measured& method : measured) {
    largest = std::max(largest,
                       value_of(method, "max_logit_difference") / value_of(method, "logit_scale"));
    EXPECT_EQ(value_of(method, "unexplained"), 0);
    for (const char* gap : {"largest_tie_gap", "largest_tie_gap_ratio"})
      EXPECT_EQ(method.metrics.contains(gap), value_of(method, "diverged") > 0) << gap;
    EXPECT_EQ(static_cast<double>(method.answers["divergences"].size()),
              value_of(method, "diverged"));
    diverged += static_cast<int>(method.answers["divergences"].size());
    for (const Json& divergence : method.answers["divergences"]) {
      EXPECT_NE(divergence["token"], divergence["reference_token"]);
      EXPECT_LE(divergence["gap"].get<double>(),
                kMostTieRatio * 2 * divergence["deviation"].get<double>());
    }
  }
  EXPECT_GT(largest, 1e-4);
  RecordProperty("diverged", diverged);
}

// With 16-bit keys and values the run counts as rounded, although its weights are f32.
TEST_F(Exactness, NarrowKeysAndValuesAreJudgedAsRounded) {
  const auto measured = measure(group("f32", {{"kv_dtype", "bf16"}}));
  for (const Measured& method : measured) EXPECT_EQ(value_of(method, "unexplained"), 0);
}

TEST_F(Exactness, ListedContiguousIsAPointLikeTheOthers) {
  const auto measured = measure(group("f32", {{"methods", {"contiguous", "recompute"}}}));
  ASSERT_EQ(measured.size(), 2U);
  for (const Measured& method : measured) {
    EXPECT_EQ(value_of(method, "diverged"), 0);
    EXPECT_EQ(method.answers["compared_with"], "contiguous, one request at a time");
  }
}

// Beyond the trained length, dynamic scaling gives a prefix computed alone other angles than the
// same prefix in a longer prompt. So sharing the prefix as relay_attention does is wrong, and the
// record must say so.
TEST_F(Exactness, MethodThatIsWrongIsTold) {
  Json config = read_json(dir_ / "config.json");
  config["max_position_embeddings"] = 48;
  config["rope_scaling"] = {{"type", "dynamic"}, {"factor", 2.0}};
  std::ofstream(dir_ / "config.json") << config.dump();
  for (const char* dtype : {"f32", "bf16"}) {
    const auto measured = measure(group(dtype, {{"methods", {"contiguous", "relay_attention"}},
                                                {"settings", {{"new_tokens", 40}}}}));
    EXPECT_EQ(value_of(measured[0], "unexplained"), 0) << dtype;
    EXPECT_GT(value_of(measured[1], "diverged"), 0) << dtype;
    EXPECT_GT(value_of(measured[1], "unexplained"), 0) << dtype;
    EXPECT_LT(measured[1].answers["equal_token_ratio"], 1.0) << dtype;
  }
}

TEST_F(Exactness, TextOfTheShippedModel) {
  const auto measured = measure(group(
      "f32", {{"models", {"models/quickstart"}},
              {"workload", {{"name", "text_prompts"}, {"file", "models/quickstart/sample.txt"}}},
              {"methods", {"chunk_attention"}},
              {"repetitions", 1}}));
  EXPECT_EQ(value_of(measured[0], "diverged"), 0);
  EXPECT_GT(value_of(measured[0], "compared_tokens"), 0);
}

TEST_F(Exactness, SettingsThatCannotBeAreRefused) {
  ExactnessKind kind(context_);
  EXPECT_THROW(kind.check(group("f32", {{"settings", {{"shared_tokens", 91}}}})), Error);
  Group trained = group("f32", {{"settings", {{"prompt_tokens", 512}}}});
  EXPECT_NO_THROW(kind.check(trained));
  trained.model.random_weights = false;
  EXPECT_THROW(kind.check(trained), Error);
  EXPECT_THROW((void)group("f32", {{"settings", {{"context_tokens", 8}}}}), Error);
}

TEST_F(Exactness, RaisedStopGivesTheGroupUp) {
  stop_ = true;
  EXPECT_THROW((void)measure(group("f32")), Interrupted);
}

}  // namespace
}  // namespace reprise::experiments
