// Arithmetic and traffic of a model small enough to count by hand.
#include "experiments/kinds/costs.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace reprise::experiments {
namespace {

// One layer, 2 query heads of 4 on 1 key head: q, k, v [16, 8], out [8, 8], gate and up [32, 8],
// down [8, 16], two norms and a final one of 8, table and head [10, 8].
model::ModelConfig tiny(bool tied) {
  model::ModelConfig config;
  config.name = "tiny";
  config.vocab = 10;
  config.hidden = 8;
  config.layers = 1;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 4;
  config.intermediate = 16;
  config.max_positions = 64;
  config.tied_embeddings = tied;
  return config;
}
constexpr int64_t kBody = 16 * 8 + 8 * 8 + 32 * 8 + 8 * 16 + 3 * 8;

TEST(Costs, CountsParametersAsTheModelDoes) {
  EXPECT_EQ(tiny(false).parameters(), kBody + 160);
  EXPECT_EQ(tiny(true).parameters(), kBody + 80);
}

TEST(Costs, CachedTokenHoldsKeysAndValuesOfAllLayers) {
  EXPECT_EQ(kv_bytes_per_token(tiny(false), DType::kF32), 2 * 4 * 4);
  EXPECT_EQ(kv_bytes_per_token(tiny(false), DType::kBF16), 2 * 4 * 2);
}

TEST(Costs, StepReadsAllWeightsButTheEmbeddingTable) {
  EXPECT_EQ(streamed_weight_bytes(tiny(false), DType::kF32), (kBody + 80) * 4);
  EXPECT_EQ(streamed_weight_bytes(tiny(true), DType::kF32), (kBody + 80) * 4);
  EXPECT_EQ(decode_bytes(tiny(false), DType::kF32, DType::kF32, 3, 10, 0),
            (kBody + 80) * 4 + 3 * 10 * 32);
}

TEST(Costs, StepReadsSharedTokensOnce) {
  const auto tokens_read = [](const model::ModelConfig& config, double context, int64_t shared) {
    return (decode_bytes(config, DType::kF32, DType::kF32, 3, context, shared) - (kBody + 80) * 4) /
           32;
  };
  EXPECT_EQ(tokens_read(tiny(false), 10, 7), 7 + 3 * 3);
  EXPECT_EQ(tokens_read(tiny(false), 10, 10), 10);
  // A window sees the last of the prefix only, or none of it.
  model::ModelConfig window = tiny(false);
  window.sliding_window = 5;
  EXPECT_EQ(tokens_read(window, 10, 7), 2 + 3 * 3);
  EXPECT_EQ(tokens_read(window, 10, 4), 3 * 5);
}

TEST(Costs, PrefillCountsVisiblePairsAndOneRowOfLogits) {
  // Three tokens see 1 + 2 + 3 keys; 4 * heads * head_dim = 32 operations for each pair.
  EXPECT_EQ(prefill_flop(tiny(false), 0, 3), 2.0 * kBody * 3 + 2.0 * 80 + 32.0 * 6);
  EXPECT_EQ(prefill_flop(tiny(false), 5, 1), 2.0 * kBody + 2.0 * 80 + 32.0 * 6);
  model::ModelConfig window = tiny(false);
  window.sliding_window = 2;
  EXPECT_EQ(prefill_flop(window, 0, 3), 2.0 * kBody * 3 + 2.0 * 80 + 32.0 * 5);
}

TEST(Costs, StepComputesOnePositionOfEachSequence) {
  // Five cached tokens and its own: six pairs of 32 operations, for each of three sequences.
  EXPECT_EQ(decode_flop(tiny(false), 3, 5), 3 * (2.0 * kBody + 2.0 * 80 + 32.0 * 6));
}

TEST(Costs, LimitsComeFromTheRecordAndMayBeMissing) {
  const Json machine = {{"limits", {{"f32_gflop_s", 100.0}, {"bf16_gflop_s", 300.0}}}};
  EXPECT_EQ(gflop_limit(machine, DType::kF32), 100);
  EXPECT_EQ(gflop_limit(machine, DType::kBF16), 300);
  EXPECT_EQ(gflop_limit(Json::object(), DType::kF32), 0);
  EXPECT_EQ(memory_limit(machine, 1e15).gb_s, 0);
}

TEST(Costs, WhatCannotFitIsRefusedWithNeedAndRemedy) {
  EXPECT_NO_THROW(check_positions(tiny(false), 64));
  try {
    check_positions(tiny(false), 65);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("at most 64"), std::string::npos);
  }
}

TEST(Costs, MemoryIsThatOfWeightsAndOneCache) {
  const MemoryNeed need = memory_of_model(tiny(false), DType::kBF16, DType::kF32, 1000);
  EXPECT_EQ(need.bytes, (kBody + 160) * 2.0 + 1000 * 32.0);
  EXPECT_NE(need.of_what.find("1000 tokens"), std::string::npos) << need.of_what;
  EXPECT_NE(need.of_what.find("bf16"), std::string::npos) << need.of_what;
}

}  // namespace
}  // namespace reprise::experiments
