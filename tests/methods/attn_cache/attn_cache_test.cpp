#include "methods/attn_cache/attn_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/model/network/layer_times.h"
#include "core/model/network/policy_chain.h"
#include "methods/layer_policies/layer_rules.h"
#include "tests/methods/attn_cache/database_testing.h"
#include "tests/support/json.h"
#include "tests/support/max_difference.h"
#include "tests/support/needs_faiss.h"

namespace reprise::attn_cache {
namespace {

const ::testing::Environment* const kFaiss = testing::NeedsFaiss::add();

using model::expect_error;
using reprise::testing::max_difference;
using reprise::testing::some_prompt;

// decoder_test derives this bound for logits; last hidden states are of order 1 too.
constexpr double kBound = 6e-5;

class OnModels : public ::testing::TestWithParam<std::string> {
 protected:
  static Json config_of(const std::string& name) {
    return name == "bert" ? tiny_bert() : name == "deberta" ? tiny_deberta() : tiny_llama();
  }
  Fixture fixture_{config_of(GetParam())};
};

TEST_P(OnModels, AtThresholdOneAStoredPromptIsComputedAsByTheFullModel) {
  const auto prompts = some_prompts(4, 12);
  const AttnCacheOptions options{.threshold = 1.0, .map_form = "f32"};
  AttnCachePolicy policy(fixture_.build(options, prompts), options, fixture_.facts,
                         fixture_.context);
  for (size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_LE(max_difference(fixture_.run(prompts[i], &policy), fixture_.run(prompts[i])), kBound);
    EXPECT_EQ(policy.similarities()[0], 1.0);
  }
  const AttnCacheCounts& counts = policy.counts();
  EXPECT_EQ(counts.prompts, 4);
  EXPECT_EQ(counts.lookups, 4);  // one lookup serves all layers
  EXPECT_EQ(counts.hits, 4);
  EXPECT_EQ(counts.reused_layers, 4 * fixture_.facts.layers);
  EXPECT_EQ(counts.loaded_bytes, 4 * fixture_.facts.layers * 4 * 12 * 12 * 4);
}

// With a threshold below every similarity, each prompt gets another prompt's maps and its result
// changes, so the test above would fail if maps were mixed up.
TEST_P(OnModels, BelowAnySimilarityOtherPromptsMapsAreReused) {
  const auto prompts = some_prompts(4, 12);
  const AttnCacheOptions options{.threshold = -1e6, .map_form = "f32"};
  AttnCachePolicy policy(fixture_.build(options, prompts), options, fixture_.facts,
                         fixture_.context);
  const std::vector<int32_t> query = some_prompt(12, 9);
  EXPECT_GT(max_difference(fixture_.run(query, &policy), fixture_.run(query)), 100 * kBound);
  EXPECT_EQ(policy.counts().hits, 1);
  EXPECT_LT(policy.similarities()[0], 1.0);
}

TEST_P(OnModels, AThresholdAboveAnySimilarityChangesNoBit) {
  const auto prompts = some_prompts(4, 12);
  for (const int32_t layer_group : {0, 2, 1}) {
    const AttnCacheOptions options{
        .threshold = 2.0, .layer_group = layer_group, .lengths = "nearest"};
    AttnCachePolicy policy(fixture_.build(options, prompts), options, fixture_.facts,
                           fixture_.context);
    for (const auto& query : {prompts[1], some_prompt(12, 9), some_prompt(7, 3)})
      EXPECT_EQ(fixture_.run(query, &policy), fixture_.run(query));
    EXPECT_EQ(policy.counts().hits, 0);
    EXPECT_EQ(policy.counts().reused_layers, 0);
    EXPECT_EQ(policy.counts().below_threshold + policy.counts().no_length, policy.counts().lookups);
    EXPECT_GT(policy.counts().no_length, 0);
  }
}

// Each form rounds a map's weights. That moves an attended value of up to 4 by 2^-8 of that (bf16),
// or by 1/510 of the row's largest weight for each of 12 keys (bytes).
TEST_P(OnModels, EveryFormOfMapsComputesStoredPromptsWithinItsError) {
  const auto prompts = some_prompts(3, 12);
  const auto error_of = [&](const std::string& form) {
    const AttnCacheOptions options{.threshold = 1.0, .map_form = form};
    AttnCachePolicy policy(fixture_.build(options, prompts), options, fixture_.facts,
                           fixture_.context);
    const double error =
        max_difference(fixture_.run(prompts[2], &policy), fixture_.run(prompts[2]));
    EXPECT_EQ(policy.counts().reused_layers, fixture_.facts.layers) << form;
    return error;
  };
  EXPECT_LE(error_of("bf16"), 0.1);
  EXPECT_LE(error_of("u8"), 0.1);
}

INSTANTIATE_TEST_SUITE_P(Models, OnModels, ::testing::Values("llama", "bert", "deberta"),
                         [](const auto& one) { return one.param; });

TEST(AttnCacheBf16, StoredPromptsAreComputedAsByTheFullModel) {
  Fixture fixture(tiny_llama(), DType::kBF16);
  const auto prompts = some_prompts(3, 20);
  const AttnCacheOptions options{.threshold = 1.0};
  AttnCachePolicy policy(fixture.build(options, prompts), options, fixture.facts, fixture.context);
  // encoder_test derives this bound for bf16.
  EXPECT_LE(max_difference(fixture.run(prompts[1], &policy), fixture.run(prompts[1])), 0.15);
  EXPECT_EQ(policy.counts().reused_layers, 5);
}

// Tests AttnCache-f and other group sizes, which look up at the first layer of each group.
TEST(LayerGroups, EachGroupIsLookedUpByItself) {
  Fixture fixture(tiny_llama());
  const auto prompts = some_prompts(4, 12);
  for (const auto& [layer_group, lookups] : {std::pair{1, 5}, {2, 3}, {4, 2}, {0, 1}, {5, 1}}) {
    // Behind reused layers, a prompt's states differ from the stored ones by rounding.
    const AttnCacheOptions options{
        .threshold = 0.99, .layer_group = layer_group, .map_form = "f32"};
    AttnCachePolicy policy(fixture.build(options, prompts), options, fixture.facts,
                           fixture.context);
    EXPECT_LE(max_difference(fixture.run(prompts[2], &policy), fixture.run(prompts[2])), kBound);
    EXPECT_EQ(policy.counts().lookups, lookups) << layer_group;
    EXPECT_EQ(policy.counts().reused_layers, 5) << layer_group;
  }
}

TEST(LayerGroups, OfOneIndexForAllLayersOtherLayersVectorsAreMisses) {
  Fixture fixture(tiny_llama());
  const auto prompts = some_prompts(3, 12);
  const AttnCacheOptions options{
      .threshold = -1e6, .index = "flat", .indexed_layers = "all", .map_form = "f32"};
  const auto database = fixture.build(options, prompts);
  EXPECT_EQ(database->index().entries(), 15);
  AttnCachePolicy policy(database, options, fixture.facts, fixture.context);
  (void)fixture.run(prompts[0], &policy);
  EXPECT_EQ(policy.counts().hits, 1);  // its own layer 0 is at distance 0
  int64_t other = 0;
  for (int32_t salt = 10; salt < 40; ++salt) {
    const std::vector<int32_t> query = some_prompt(12, salt);
    const int64_t before = policy.counts().other_layer;
    const auto got = fixture.run(query, &policy);
    if (policy.counts().other_layer > before) {
      ++other;
      EXPECT_EQ(got, fixture.run(query));
    }
  }
  EXPECT_EQ(policy.counts().hits + policy.counts().other_layer, policy.counts().lookups);
  RecordProperty("other_layer", static_cast<int>(other));
}

TEST(Lengths, AMissByLengthSaysWhetherTheLengthIsStored) {
  Fixture fixture(tiny_llama());
  const std::vector<int32_t> longer = some_prompt(16, 1);
  const std::vector<int32_t> beginning(longer.begin(), longer.begin() + 9);
  const AttnCacheOptions options{.threshold = -1e6, .lengths = "nearest", .index = "flat"};
  AttnCachePolicy policy(fixture.build(options, {longer}), options, fixture.facts, fixture.context);
  EXPECT_EQ(fixture.run(beginning, &policy), fixture.run(beginning));
  EXPECT_EQ(policy.counts().no_length, 1);
  EXPECT_EQ(policy.counts().other_length, 0);
  // If prompts of both lengths are stored, the nearest one sometimes has the other length.
  auto both = some_prompts(6, 9);
  for (const auto& prompt : some_prompts(6, 12)) both.push_back(prompt);
  AttnCachePolicy mixed(fixture.build(options, both), options, fixture.facts, fixture.context);
  for (int32_t salt = 20; salt < 60; ++salt) (void)fixture.run(some_prompt(9, salt), &mixed);
  EXPECT_EQ(mixed.counts().no_length, 0);
  EXPECT_GT(mixed.counts().other_length, 0);
  EXPECT_EQ(mixed.counts().other_length + mixed.counts().hits, 40);
}

// The first tokens of a prompt have the same maps in a causal model, so cropping is exact there.
TEST(Lengths, TheCroppedMapsOfALongerPromptAreThoseOfItsBeginning) {
  for (const std::string form : {"f32", "u8"}) {
    Fixture fixture(tiny_llama());
    const std::vector<int32_t> longer = some_prompt(16, 1);
    const std::vector<int32_t> beginning(longer.begin(), longer.begin() + 9);
    const AttnCacheOptions options{.threshold = -1e6, .map_form = form};
    AttnCachePolicy policy(fixture.build(options, {longer}), options, fixture.facts,
                           fixture.context);
    EXPECT_LE(max_difference(fixture.run(beginning, &policy), fixture.run(beginning)),
              form == "f32" ? kBound : 0.1);
    EXPECT_EQ(policy.counts().hits, 1);
    EXPECT_EQ(policy.counts().fitted_hits, 1);
  }
}

// Computes every layer with the first stored prompt's map, fitted.
class FittedMaps final : public model::LayerPolicy {
 public:
  FittedMaps(const Database& database, Alignment alignment, bool is_causal)
      : database_(database), alignment_(alignment), is_causal_(is_causal) {}
  model::LayerChoice choose(model::LayerInput& input) override {
    const int64_t tokens = input.step().plan.rows();
    const kernels::MapView stored = database_.maps().map(0, input.layer());
    fitted_.resize(static_cast<size_t>(stored.heads * tokens * tokens));
    fit_map(stored, alignment_, tokens, is_causal_, fitted_, {.threads = 1});
    maps_ = {{.map = kernels::contiguous_map(fitted_.data(), DType::kF32, stored.heads, tokens,
                                             tokens)}};
    return {.action = model::LayerAction::kReuseMap, .maps = maps_};
  }

 private:
  const Database& database_;
  Alignment alignment_;
  bool is_causal_;
  std::vector<float> fitted_;
  std::vector<kernels::RowMap> maps_;
};

TEST(Lengths, ShorterPromptsMapsServeLongerOnes) {
  for (const Json& config : {tiny_llama(), tiny_bert()})
    for (const std::string alignment : {"begin", "end"}) {
      Fixture fixture(config);
      const AttnCacheOptions options{.threshold = -1e6, .alignment = alignment};
      const auto database = fixture.build(options, some_prompts(1, 5));
      AttnCachePolicy policy(database, options, fixture.facts, fixture.context);
      FittedMaps fitted(*database, parse_alignment(alignment), fixture.facts.is_causal);
      const std::vector<int32_t> query = some_prompt(11, 2);
      EXPECT_EQ(fixture.run(query, &policy), fixture.run(query, &fitted));
      EXPECT_EQ(policy.counts().fitted_hits, 1);
      EXPECT_NE(fixture.run(query, &policy), fixture.run(query));
    }
}

TEST(Lengths, AnIndexForEachLengthFindsTheNearestThatFits) {
  Fixture fixture(tiny_llama());
  std::vector<std::vector<int32_t>> prompts = some_prompts(3, 12);
  for (const auto& prompt : some_prompts(3, 8)) prompts.push_back(prompt);
  AttnCacheOptions options{.threshold = -1e6, .lengths = "same", .map_form = "f32"};
  AttnCachePolicy policy(fixture.build(options, prompts), options, fixture.facts, fixture.context);
  for (const int32_t tokens : {8, 12}) (void)fixture.run(some_prompt(tokens, 20), &policy);
  EXPECT_EQ(policy.counts().hits, 2);
  (void)fixture.run(some_prompt(9, 20), &policy);
  EXPECT_EQ(policy.counts().no_length, 1);
  EXPECT_EQ(policy.counts().empty, 0);
}

// With the released code's options, all prompts are padded to one length, its projector is used,
// and one index serves all layers. The padding is masked, so a prompt is computed as without it.
TEST(AsCoded, PaddedPromptsAreFoundByTheReleasedCodesProjector) {
  Fixture fixture(tiny_llama());
  const Json given = {{"preset", "as_coded"}, {"padded_tokens", 14}, {"map_form", "f32"}};
  const auto options = reuse::read_options<AttnCacheOptions>(fields_of(given), "test");
  std::vector<std::vector<int32_t>> prompts;
  for (const int32_t tokens : {5, 13, 14}) prompts.push_back(some_prompt(tokens, tokens));
  AttnCachePolicy policy(fixture.build(options, prompts), options, fixture.facts, fixture.context);
  for (const auto& prompt : prompts)
    EXPECT_LE(max_difference(fixture.run(prompt, &policy), fixture.run(prompt)), kBound);
  EXPECT_EQ(policy.counts().hits, 3);
  expect_error([&] { (void)fixture.run(some_prompt(15, 1), &policy); }, {"15 tokens", "cut"});
}

// ---- several prompts in a step ----

// This model's scores have terms for relative positions, so hits and misses cannot mix in a step.
TEST(Batches, AreReusedWhereAllPromptsHitAndElseComputedIfTheyCannotMix) {
  Fixture fixture(tiny_deberta());
  std::vector<std::vector<int32_t>> prompts = some_prompts(3, 12);
  for (const auto& prompt : some_prompts(2, 7)) prompts.push_back(prompt);
  const AttnCacheOptions options{.threshold = 1.0, .map_form = "f32"};
  AttnCachePolicy policy(fixture.build(options, prompts), options, fixture.facts, fixture.context);
  const std::vector<std::vector<int32_t>> hits = {prompts[1], prompts[4], prompts[0]};
  EXPECT_LE(max_difference(fixture.run_together(hits, &policy), fixture.run_together(hits)),
            kBound);
  EXPECT_EQ(policy.counts().prompts, 3);
  EXPECT_EQ(policy.counts().hits, 3);
  EXPECT_EQ(policy.counts().reused_layers, 3 * 3);
  policy.reset();
  const std::vector<std::vector<int32_t>> mixed = {prompts[1], some_prompt(12, 30), prompts[0]};
  EXPECT_EQ(fixture.run_together(mixed, &policy), fixture.run_together(mixed));
  EXPECT_EQ(policy.counts().hits, 2);
  EXPECT_EQ(policy.counts().unused_hits, 2);
  EXPECT_EQ(policy.counts().reused_layers, 0);
}

// Each prompt in a step of its own gives the expected result. Hits change the results, because the
// maps are another prompt's. So rows with the wrong maps, and hits that compute, would be seen.
TEST(Batches, MayMixHitsAndMisses) {
  for (const Json& config : {tiny_bert(), tiny_llama()}) {
    Fixture fixture(config);
    std::vector<std::vector<int32_t>> stored = some_prompts(3, 12);
    for (const auto& prompt : some_prompts(2, 7)) stored.push_back(prompt);
    std::vector<std::vector<int32_t>> asked;
    for (const int32_t tokens : {12, 7, 9, 12, 7, 12, 1})
      asked.push_back(some_prompt(tokens, 20 + static_cast<int32_t>(asked.size())));
    AttnCacheOptions options{.threshold = -1e6, .map_form = "f32"};
    const auto database = fixture.build(options, stored);
    std::vector<double> similarities;
    AttnCachePolicy always(database, options, fixture.facts, fixture.context);
    for (const auto& prompt : asked) {
      (void)fixture.run_together({prompt}, &always);
      similarities.push_back(always.similarities()[0]);
    }
    std::vector<double> sorted = similarities;
    std::sort(sorted.begin(), sorted.end());
    options.threshold = 0.5 * (sorted[2] + sorted[3]);  // three of seven miss
    AttnCachePolicy alone(database, options, fixture.facts, fixture.context);
    AttnCachePolicy together(database, options, fixture.facts, fixture.context);
    std::vector<float> expected, full;
    for (const auto& prompt : asked) {
      const std::vector<float> one = fixture.run_together({prompt}, &alone);
      expected.insert(expected.end(), one.begin(), one.end());
    }
    EXPECT_LE(max_difference(fixture.run_together(asked, &together), expected), kBound);
    EXPECT_GT(max_difference(fixture.run_together(asked), expected), 100 * kBound);
    EXPECT_EQ(together.counts().hits, 4);
    EXPECT_EQ(together.counts().unused_hits, 0);
    EXPECT_EQ(together.counts().reused_layers, 4 * fixture.facts.layers);
    EXPECT_EQ(together.counts().loaded_bytes, alone.counts().loaded_bytes);
  }
}

// With a lookup in each layer, prompts hit in some layers and miss in others.
TEST(Batches, MixLayerByLayer) {
  Fixture fixture(tiny_llama());
  AttnCacheOptions options{.threshold = -1e6, .layer_group = 1, .map_form = "f32"};
  const auto database = fixture.build(options, some_prompts(4, 12));
  const std::vector<std::vector<int32_t>> asked = {some_prompt(12, 20), some_prompt(9, 21),
                                                   some_prompt(12, 22)};
  AttnCachePolicy always(database, options, fixture.facts, fixture.context);
  (void)fixture.run_together(asked, &always);
  options.threshold = always.similarities()[1];  // the second prompt's, in the last layer
  AttnCachePolicy alone(database, options, fixture.facts, fixture.context);
  AttnCachePolicy together(database, options, fixture.facts, fixture.context);
  std::vector<float> expected;
  for (const auto& prompt : asked) {
    const std::vector<float> one = fixture.run_together({prompt}, &alone);
    expected.insert(expected.end(), one.begin(), one.end());
  }
  EXPECT_LE(max_difference(fixture.run_together(asked, &together), expected), 10 * kBound);
  EXPECT_EQ(together.counts().hits, alone.counts().hits);
  EXPECT_GT(together.counts().hits, 0);
  EXPECT_LT(together.counts().hits, 3 * fixture.facts.layers);
}

TEST(Batches, ChunksOfAPromptNeverReuse) {
  Fixture fixture(tiny_llama());
  const auto prompts = some_prompts(2, 12);
  const AttnCacheOptions options{.threshold = -1e6};
  AttnCachePolicy policy(fixture.build(options, prompts), options, fixture.facts, fixture.context);
  reprise::testing::OneSequence sequence(fixture.decoder->config(), prompts[0]);
  for (const int32_t first : {6, 0}) {
    model::StepInput step = sequence.step(first, first == 0 ? 12 : 6);
    step.policy = &policy;
    fixture.decoder->forward(step, {});
  }
  EXPECT_EQ(policy.counts().partial_prompts, 1);
  EXPECT_EQ(policy.counts().prompts, 1);
  EXPECT_EQ(policy.counts().lookups, 1);
}

// ---- in the engine ----

// The tokens that a request generates, or the reason why it was refused.
std::string generated(Fixture& fixture, std::shared_ptr<model::LayerPolicy> policy,
                      const std::vector<int32_t>& prompt, int32_t new_tokens, int32_t step_tokens) {
  engine::Engine engine(fixture.context, *fixture.decoder, methods::make_cache("contiguous", {}),
                        {.limits = {.max_sequence_tokens = 64},
                         .step_tokens = step_tokens,
                         .policy = std::move(policy)});
  engine.submit({.id = 1, .prompt = prompt, .max_new_tokens = new_tokens});
  std::string text;
  for (const engine::TokenEvent& event : engine.run())
    text += event.finish == engine::FinishReason::kRefused ? event.reason
                                                           : std::to_string(event.token) + " ";
  return text;
}

TEST(InTheEngine, PromptsAreReusedWholeAndNothingIsDecodedBehindThem) {
  Fixture fixture(tiny_llama());
  const auto prompts = some_prompts(3, 12);
  const AttnCacheOptions options{.threshold = 1.0, .map_form = "f32"};
  const auto policy = std::make_shared<AttnCachePolicy>(fixture.build(options, prompts), options,
                                                        fixture.facts, fixture.context);
  EXPECT_EQ(generated(fixture, policy, prompts[1], 1, 64),
            generated(fixture, nullptr, prompts[1], 1, 64));
  EXPECT_EQ(policy->counts().hits, 1);
  EXPECT_NE(generated(fixture, policy, prompts[1], 2, 64).find("ask for 1 at most"),
            std::string::npos);
  // The policy chain gives the same result.
  const auto chain = std::make_shared<model::PolicyChain>(
      std::vector<std::shared_ptr<model::LayerPolicy>>{policy});
  EXPECT_NE(generated(fixture, chain, prompts[1], 2, 64).find("ask for 1 at most"),
            std::string::npos);
}

// A chunk is no prompt, even where a prompt of its tokens is stored.
TEST(InTheEngine, ChunksThatEqualStoredPromptsAreComputed) {
  Fixture fixture(tiny_llama());
  const std::vector<int32_t> whole = some_prompt(12, 1);
  const AttnCacheOptions options{.threshold = 1.0, .map_form = "f32"};
  const auto policy = std::make_shared<AttnCachePolicy>(
      fixture.build(options, {{whole.begin(), whole.begin() + 5}}), options, fixture.facts,
      fixture.context);
  EXPECT_EQ(generated(fixture, policy, whole, 1, 5), generated(fixture, nullptr, whole, 1, 5));
  EXPECT_EQ(policy->counts().hits, 0);
  EXPECT_EQ(policy->counts().prompts, 0);
  EXPECT_EQ(policy->counts().partial_prompts, 3);
}

// ---- time, and other policies beside it ----

TEST(Times, WhatChoosingTakesIsSplitByLayerAndStep) {
  Fixture fixture(tiny_llama());
  const auto prompts = some_prompts(2, 12);
  const AttnCacheOptions options{.threshold = 1.0, .layer_group = 0};
  int64_t now_ns = 0;
  const auto clock = [&] { return now_ns += 1; };
  AttnCachePolicy policy(fixture.build(options, prompts), options, fixture.facts, fixture.context,
                         clock);
  model::LayerTimes layers(5, &policy, clock);
  EXPECT_EQ(fixture.run(prompts[1], &layers), fixture.run(prompts[1], &policy));
  for (size_t layer = 0; layer < 5; ++layer) {
    const AttnCacheTimes& times = policy.times()[layer];
    EXPECT_EQ(times.embedding_ns, layer == 0 ? 2 : 0);  // one tick in each of two runs
    EXPECT_EQ(times.searching_ns, layer == 0 ? 2 : 0);
    EXPECT_EQ(times.loading_ns, 2);
    EXPECT_GE(layers.layers()[layer].choosing_ns,
              (times.embedding_ns + times.searching_ns + times.loading_ns) / 2);
    EXPECT_EQ(layers.layers()[layer].attention_ns, 1);
  }
  policy.reset();
  EXPECT_EQ(policy.times()[0].embedding_ns, 0);
  EXPECT_EQ(policy.counts().hits, 0);
}

TEST(Chains, RivalsDecideWhereAttnCacheMisses) {
  Fixture fixture(tiny_llama());
  const auto prompts = some_prompts(2, 12);
  const AttnCacheOptions options{.threshold = 1.0, .map_form = "f32"};
  const auto policy = std::make_shared<AttnCachePolicy>(fixture.build(options, prompts), options,
                                                        fixture.facts, fixture.context);
  const auto sharing = [] {
    return std::make_shared<model::MapSharing>(std::vector<int64_t>{0, 2, 4}, 5);
  };
  model::PolicyChain chain({policy, sharing()});
  EXPECT_EQ(fixture.run(prompts[0], &chain), fixture.run(prompts[0], policy.get()));  // a hit
  const std::vector<int32_t> other = some_prompt(12, 9);
  const auto alone = sharing();
  EXPECT_EQ(fixture.run(other, &chain), fixture.run(other, alone.get()));
  // Skipped layers stay skipped, and the other layers reuse maps.
  const auto skipping = [] {
    return std::make_shared<model::LayerSkipping>(std::vector<int64_t>{3}, 5,
                                                  model::LayerAction::kSkipBlock);
  };
  model::PolicyChain pruned({skipping(), policy});
  const auto pruned_alone = skipping();
  policy->reset();
  const std::vector<float> both = fixture.run(prompts[0], &pruned);
  EXPECT_NE(both, fixture.run(prompts[0], pruned_alone.get()));  // the whole model's map in layer 4
  for (const float value : both) ASSERT_TRUE(std::isfinite(value));
  EXPECT_EQ(policy->counts().reused_layers, 4);
}

// If the first layer of a group is skipped, nothing is looked up for the group, and earlier hits
// are not used.
TEST(Chains, AGroupWhoseFirstLayerIsLeftOutComputes) {
  Fixture fixture(tiny_llama());
  const auto prompts = some_prompts(2, 12);
  for (const auto& [layer_group, skipped, reused] :
       {std::tuple{0, 0, 0}, {2, 2, 3}, {1, 3, 4}, {2, 1, 4}}) {
    SCOPED_TRACE(skipped);
    const AttnCacheOptions options{
        .threshold = -1e6, .layer_group = layer_group, .map_form = "f32"};
    const auto policy = std::make_shared<AttnCachePolicy>(fixture.build(options, prompts), options,
                                                          fixture.facts, fixture.context);
    (void)fixture.run(prompts[1], policy.get());  // finds maps that must not be used later
    policy->reset();
    const auto skipping = std::make_shared<model::LayerSkipping>(
        std::vector<int64_t>{skipped}, 5, model::LayerAction::kSkipAttention);
    model::PolicyChain chain({skipping, policy});
    const std::vector<float> got = fixture.run(some_prompt(12, 9), &chain);
    EXPECT_EQ(policy->counts().reused_layers, reused);
    EXPECT_EQ(policy->counts().prompts, 1);
    if (reused == 0) {
      EXPECT_EQ(got, fixture.run(some_prompt(12, 9), skipping.get()));
    }
    policy->reset();
    (void)fixture.run(prompts[0], policy.get());
    EXPECT_EQ(policy->counts().reused_layers, 5);  // no state is left from the turn before
  }
}

// The maps collected from a model with skipped layers are those that this model computes.
TEST(Chains, MapsOfAModelWithoutSomeLayersAreCollectedAndReused) {
  Fixture fixture(tiny_llama());
  const auto skipping = std::make_shared<model::LayerSkipping>(std::vector<int64_t>{2}, 5,
                                                               model::LayerAction::kSkipBlock);
  const auto prompts = some_prompts(3, 12);
  const AttnCacheOptions options{.threshold = 1.0, .map_form = "f32"};
  const RunPrompt run = [&](std::span<const int32_t> ids, model::LayerPolicy& policy) {
    model::PolicyChain chain(
        {skipping, std::shared_ptr<model::LayerPolicy>(std::shared_ptr<void>(), &policy)});
    (void)fixture.run(ids, &chain);
  };
  const auto policy = std::make_shared<AttnCachePolicy>(fixture.build(options, prompts, run),
                                                        options, fixture.facts, fixture.context);
  model::PolicyChain chain({skipping, policy});
  EXPECT_LE(
      max_difference(fixture.run(prompts[1], &chain), fixture.run(prompts[1], skipping.get())),
      kBound);
  EXPECT_EQ(policy->counts().reused_layers, 4);
}

}  // namespace
}  // namespace reprise::attn_cache
