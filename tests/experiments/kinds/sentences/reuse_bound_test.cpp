#include "experiments/kinds/sentences/reuse_bound.h"

#include <gtest/gtest.h>

namespace reprise::experiments {
namespace {

// At 560 tokens, reuse makes attention at best twice as fast for any shape, and a whole prompt at
// best 1.20 times (Llama-2-7B) or 1.15 times (Llama-3.2-3B) as fast.
TEST(ReuseBound, IsTheArithmeticOfTheShape) {
  const PrefillProducts seven = prefill_products(model::load_config("llama-2-7b"), 560);
  const PrefillProducts three = prefill_products(model::load_config("llama-3.2-3b"), 560);
  EXPECT_NEAR(seven.attention_bound(), 2.0, 0.005);
  EXPECT_NEAR(three.attention_bound(), 2.0, 0.005);
  EXPECT_NEAR(seven.bound(), 1.204, 0.001);
  EXPECT_NEAR(three.bound(), 1.151, 0.001);
  // All layers are alike, so a model of two layers has the same bounds.
  EXPECT_DOUBLE_EQ(prefill_products(model::load_config("llama-2-7b-2-layers"), 560).bound(),
                   seven.bound());
}

TEST(ReuseBound, CountsWhatRowsSee) {
  model::ModelConfig config;
  config.hidden = 4;
  config.layers = 3;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 2;
  config.intermediate = 5;
  // For 3 tokens, each layer multiplies queries and outputs by 4 x 4 weights, keys and values by 4
  // x 2, and has 6 pairs of 4 products.
  PrefillProducts products = prefill_products(config, 3);
  EXPECT_EQ(products.reused, 3 * (3 * (8 + 16) + 6 * 4));
  EXPECT_EQ(products.attention, 3 * (3 * (16 + 8 + 8 + 16) + 2 * 6 * 4));
  EXPECT_EQ(products.rest, 3 * 3 * 3 * 4 * 5);
  config.is_causal = false;
  config.gated_mlp = false;
  products = prefill_products(config, 3);
  EXPECT_EQ(products.reused, 3 * (3 * (8 + 16) + 9 * 4));
  EXPECT_EQ(products.rest, 3 * 3 * 2 * 4 * 5);
  config.relative.span = 8;  // adds both terms of relative positions
  EXPECT_EQ(prefill_products(config, 3).attention - products.attention, 3 * 2 * 9 * 4);
  config.relative = {};
  config.is_causal = true;
  config.sliding_window = 2;
  EXPECT_EQ(prefill_products(config, 3).reused, 3 * (3 * (8 + 16) + 5 * 4));
}

TEST(ReuseBound, OfExpertsThoseThatATokenPasses) {
  model::ModelConfig config;
  config.hidden = 4;
  config.layers = 2;
  config.heads = config.kv_heads = 1;
  config.head_dim = 4;
  config.intermediate = 10;
  config.experts = {.count = 6, .per_token = 2, .intermediate = 3, .shared_intermediate = 5};
  config.experts.dense_layers = {0};
  EXPECT_EQ(prefill_products(config, 1).rest, 3 * 4 * 10 + 4 * (3 * (2 * 3 + 5) + 6));
}

TEST(ReuseBound, GrowsWithTheText) {
  const model::ModelConfig config = model::load_config("llama-2-7b");
  PrefillProducts both = prefill_products(config, 94);
  const double shorter = both.bound();
  both.add(prefill_products(config, 2000));
  EXPECT_GT(both.bound(), shorter);
  EXPECT_LT(both.bound(), prefill_products(config, 2000).bound());
}

}  // namespace
}  // namespace reprise::experiments
