// Tests which layers AttnCache's rivals choose, and that their policies apply the choice.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "methods/attn_drop/attn_drop.h"
#include "methods/block_drop/block_drop.h"
#include "methods/layer_policies/layer_rules.h"
#include "methods/lazy_former/lazy_former.h"
#include "methods/san/san.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/methods/attn_cache/database_testing.h"
#include "tests/support/json.h"
#include "tests/support/max_difference.h"

namespace reprise {
namespace {

using attn_cache::Fixture;
using attn_cache::tiny_bert;
using attn_cache::tiny_llama;
using model::expect_error;
using reprise::testing::some_prompt;

TEST(LazyFormer, SharesInBlocksOfEqualLength) {
  Fixture fixture(tiny_llama(5));
  const std::vector<int32_t> ids = some_prompt(11);
  for (const auto& [length, first_layers] :
       {std::pair{2, std::vector<int64_t>{0, 2, 4}}, {1, {0, 1, 2, 3, 4}}, {7, {0}}}) {
    const auto lazy = lazy_former::make_lazy_former({.block_layers = length}, 5);
    model::MapSharing sharing(first_layers, 5);
    EXPECT_EQ(fixture.run(ids, lazy.get()), fixture.run(ids, &sharing)) << length;
  }
  expect_error([] { (void)lazy_former::make_lazy_former({.block_layers = 0}, 5); }, {"0 layers"});
}

// Computing row by row, as in decoding, gives what the whole prompt gives, so no key is missing.
TEST(LazyFormer, ChunksGiveWhatTheWholePromptGives) {
  Fixture fixture(tiny_llama(5));
  const std::vector<int32_t> ids = some_prompt(11);
  const auto lazy = lazy_former::make_lazy_former({}, 5);
  const std::vector<float> whole = fixture.run(ids, lazy.get());
  reprise::testing::OneSequence sequence(fixture.decoder->config(), ids);
  const auto hidden = static_cast<size_t>(fixture.facts.hidden);
  for (const auto& [first, rows] : {std::pair{0, 8}, {8, 1}, {9, 2}}) {
    const std::vector<int32_t> wanted = reprise::testing::counted(rows);
    model::StepInput step = sequence.step(first, rows);
    step.hidden_rows = wanted;
    step.policy = lazy.get();
    std::vector<float> got(static_cast<size_t>(rows) * hidden);
    fixture.decoder->forward(step, {.hidden = got});
    const auto want = std::span(whole).subspan(static_cast<size_t>(first) * hidden, got.size());
    EXPECT_LE(reprise::testing::max_difference(got, want), 6e-5) << first;
  }
}

// Passes one map [1 head, 2 rows, 2 keys] per layer to the policy, as a model would.
void show(san::MapDivergence& divergence, const std::vector<std::vector<float>>& layers) {
  for (size_t layer = 0; layer < layers.size(); ++layer)
    divergence.observe_map(static_cast<int64_t>(layer),
                           kernels::contiguous_map(layers[layer].data(), DType::kF32, 1, 2, 2));
}

TEST(San, ComparesMapsByTheJensenShannonDivergence) {
  san::MapDivergence divergence(3);
  expect_error([&] { (void)divergence.between(0, 1); }, {"calibration prompts"});
  // The first rows are equal in all layers; the second rows of layers 0 and 1 have nothing in
  // common, those of 0 and 2 half.
  show(divergence, {{1, 0, 1, 0}, {1, 0, 0, 1}, {1, 0, 0.5f, 0.5f}});
  EXPECT_DOUBLE_EQ(divergence.between(0, 1), 0.5);  // 1 bit in one row of two
  EXPECT_DOUBLE_EQ(divergence.between(1, 0), 0.5);
  EXPECT_EQ(divergence.between(1, 1), 0.0);
  // m = (3/4, 1/4): (log2(4/3) + (log2(2/3) + 1) / 2) / 2, in one row of two.
  const double half = (std::log2(4.0 / 3) + (std::log2(2.0 / 3) + 1) / 2) / 2;
  EXPECT_NEAR(divergence.between(0, 2), half / 2, 1e-12);
  show(divergence, {{1, 0, 1, 0}, {1, 0, 1, 0}, {1, 0, 1, 0}});
  EXPECT_DOUBLE_EQ(divergence.between(0, 1), 0.25);  // the mean over prompts
}

TEST(San, AsCodedComparesWholeHeadsInNats) {
  const std::vector<reuse::Preset<san::SanOptions>> presets = san::SanOptions::presets();
  ASSERT_EQ(presets.size(), 2u);
  ASSERT_EQ(presets[0].name, "as_published");
  ASSERT_EQ(presets[1].name, "as_coded");
  san::MapDivergence published(2, presets[0].options), coded(2, presets[1].options);
  for (san::MapDivergence* divergence : {&published, &coded})
    show(*divergence, {{1, 0, 1, 0}, {1, 0, 0, 1}});
  EXPECT_DOUBLE_EQ(published.between(0, 1), 0.5);
  // The released code compares whole heads, each as one distribution: p = (1/2, 0, 1/2, 0), q =
  // (1/2, 0, 0, 1/2), m = (1/2, 0, 1/4, 1/4). Both have 1/2 ln(1/2 / 1/2) + 1/2 ln(1/2 / 1/4)
  // against m.
  EXPECT_DOUBLE_EQ(coded.between(0, 1), 0.5 * std::log(2.0));
  // A shorter prompt has one row, in which the maps have nothing in common. That is one of three
  // rows, but one of two heads.
  const float first[] = {1, 0}, second[] = {0, 1};
  for (san::MapDivergence* divergence : {&published, &coded}) {
    divergence->observe_map(0, kernels::contiguous_map(first, DType::kF32, 1, 1, 2));
    divergence->observe_map(1, kernels::contiguous_map(second, DType::kF32, 1, 1, 2));
  }
  EXPECT_DOUBLE_EQ(published.between(0, 1), 2.0 / 3);
  EXPECT_DOUBLE_EQ(coded.between(0, 1), 0.75 * std::log(2.0));
}

TEST(San, ABlockGrowsAsLongAsItsLayersAreAlike) {
  san::MapDivergence divergence(4);
  show(divergence, {{1, 0, 1, 0}, {1, 0, 1, 0}, {1, 0, 0, 1}, {1, 0, 0, 1}});
  using Layers = std::vector<int64_t>;
  EXPECT_EQ(san::choose_blocks(divergence, {.similarity = 0.9}), (Layers{0, 2}));
  EXPECT_EQ(san::choose_blocks(divergence, {.similarity = 1.0}), (Layers{0, 2}));
  // Among three layers, two of three pairs have similarity 1/2, and among four layers four of six
  // pairs; both means are 2/3.
  EXPECT_EQ(san::choose_blocks(divergence, {.similarity = 0.65}), (Layers{0}));
  EXPECT_EQ(san::choose_blocks(divergence, {.similarity = 0.67}), (Layers{0, 2}));
}

TEST(San, CalibratesOnAModelAndSharesAsItChose) {
  Fixture fixture(tiny_llama(5));
  san::MapDivergence divergence(5);
  for (int32_t salt = 0; salt < 3; ++salt) (void)fixture.run(some_prompt(9, salt), &divergence);
  for (int64_t a = 0; a < 5; ++a)
    for (int64_t b = a + 1; b < 5; ++b) {
      EXPECT_GT(divergence.between(a, b), 0.0);
      EXPECT_LE(divergence.between(a, b), 1.0);
    }
  const auto all = san::choose_blocks(divergence, {.similarity = 0.0});
  EXPECT_EQ(all, (std::vector<int64_t>{0}));
  const auto none = san::choose_blocks(divergence, {.similarity = 1.0});
  EXPECT_EQ(none.size(), 5u);
  const std::vector<int32_t> ids = some_prompt(9, 5);
  EXPECT_EQ(fixture.run(ids, san::make_san(none, 5).get()), fixture.run(ids));
  EXPECT_NE(fixture.run(ids, san::make_san(all, 5).get()), fixture.run(ids));
}

TEST(Dropping, LayersThatChangeLeastAreLeftOut) {
  const std::vector<model::LayerCosine> cosines = {{.attention = 0.9, .block = 0.2},
                                                   {.attention = 0.99, .block = 0.3},
                                                   {.attention = 0.5, .block = 0.95},
                                                   {.attention = 0.7, .block = 0.94},
                                                   {.attention = 0.8, .block = 0.1}};
  Fixture fixture(tiny_llama(5));
  const std::vector<int32_t> ids = some_prompt(9);
  model::LayerSkipping attention({0, 1}, 5, model::LayerAction::kSkipAttention);
  EXPECT_EQ(fixture.run(ids, attn_drop::make_attn_drop({.dropped = 2}, cosines).policy.get()),
            fixture.run(ids, &attention));
  model::LayerSkipping blocks({2, 3}, 5, model::LayerAction::kSkipBlock);
  EXPECT_EQ(fixture.run(ids, block_drop::make_block_drop({.dropped = 2}, cosines).policy.get()),
            fixture.run(ids, &blocks));
  EXPECT_EQ(fixture.run(ids, attn_drop::make_attn_drop({.dropped = 0}, cosines).policy.get()),
            fixture.run(ids));
  expect_error([&] { (void)attn_drop::make_attn_drop({.dropped = 6}, cosines); },
               {"6 layers of 5"});
  expect_error([&] { (void)block_drop::make_block_drop({.dropped = 6}, cosines); }, {"6 layers"});
}

TEST(Dropping, IsCalibratedOnDecodersAndEncoders) {
  for (const Json& config : {tiny_llama(4), tiny_bert()}) {
    Fixture fixture(config);
    model::LayerSimilarity similarity(fixture.facts.layers);
    for (int32_t salt = 0; salt < 3; ++salt) (void)fixture.run(some_prompt(9, salt), &similarity);
    const std::vector<model::LayerCosine> cosines = similarity.layers();
    const auto dropping = block_drop::make_block_drop({.dropped = 1}, cosines).policy;
    const std::vector<int32_t> ids = some_prompt(9, 7);
    EXPECT_NE(fixture.run(ids, dropping.get()), fixture.run(ids));
  }
}

}  // namespace
}  // namespace reprise
