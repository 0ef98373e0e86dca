// Tests arithmetic and traffic of a model that is small enough to count by hand.
#include "experiments/kinds/shared/costs.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "experiments/kinds/latency/rates_beside.h"
#include "tests/support/json.h"

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
  EXPECT_EQ(streamed_weight_bytes(tiny(false), DType::kF32, 0), (kBody + 80) * 4);
  EXPECT_EQ(streamed_weight_bytes(tiny(true), DType::kF32, 0), (kBody + 80) * 4);
  EXPECT_EQ(
      decode_bytes(tiny(false), DType::kF32, DType::kF32, {.batch = 3, .context = 10, .shared = 0}),
      (kBody + 80) * 4 + 3 * 10 * 32);
}

// The first computed position sees window - 1 cached ones, later positions see fewer.
TEST(Costs, PrefillReadsTheCachedKeysThatAWindowShows) {
  Group group;
  group.dtype = group.kv_dtype = DType::kF32;
  const Rates reading = {.gflop_s = 1e12, .gb_s = 1};  // 1e-6 ms a byte
  const auto bytes = [&](const model::ModelConfig& config, int64_t reused) {
    return 1e6 * prefill_limit_ms(group, config, {.reused = reused, .tokens = 2}, reading);
  };
  EXPECT_NEAR(bytes(tiny(false), 30), (kBody + 80) * 4 + 30 * 32, 1e-6);
  model::ModelConfig window = tiny(false);
  window.sliding_window = 5;
  EXPECT_NEAR(bytes(window, 30), (kBody + 80) * 4 + 4 * 32, 1e-6);
  EXPECT_NEAR(bytes(window, 3), (kBody + 80) * 4 + 3 * 32, 1e-6);
}

// The 576 weights of the layer's matrices are codes; those of norms and head are not.
TEST(Costs, CodesAreReadInTheirBitsAndTheRestInTheDtypes) {
  using Type = WeightType;
  for (const bool tied : {false, true}) {
    EXPECT_EQ(streamed_weight_bytes(tiny(tied), Type(WeightFormat::kInt8), 0), 576 + 104 * 4);
    EXPECT_EQ(streamed_weight_bytes(tiny(tied), Type(WeightFormat::kInt4, DType::kBF16), 0),
              576 * 9 / 16 + 104 * 2);
  }
  EXPECT_EQ(
      memory_of_model(tiny(false), Type(WeightFormat::kInt8, DType::kBF16), DType::kBF16, 0).bytes,
      576 + (104 + 80) * 2);
}

// Adds two layers with five experts of width 6, of which a token uses two, and a shared expert of
// width 12. Gate, up and down of an expert are 3 * 6 * 8 weights.
model::ModelConfig tiny_experts() {
  model::ModelConfig config = tiny(false);
  config.layers = 3;
  config.experts = {.count = 5,
                    .per_token = 2,
                    .intermediate = 6,
                    .shared_intermediate = 12,
                    .dense_layers = {0}};
  return config;
}
constexpr int64_t kExpert = 3 * 6 * 8;
// Weights of an expert layer beside its routed experts: attention with its norms, the router, the
// shared expert and its gate.
constexpr int64_t kExpertLayer = 16 * 8 + 8 * 8 + 2 * 8 + 5 * 8 + 3 * 12 * 8 + 8;

TEST(Costs, AStepReadsTheExpertsThatItTouchedAndATokenComputesItsOwn) {
  const model::ModelConfig config = tiny_experts();
  EXPECT_EQ(config.expert_layers(), 2);
  EXPECT_EQ(config.expert_parameters(), 2 * 5 * kExpert);
  EXPECT_EQ(config.parameters(), kBody + 160 + 2 * (kExpertLayer + 5 * kExpert));
  EXPECT_EQ(streamed_weight_bytes(config, DType::kF32, 7),
            (kBody + 80 + 2 * kExpertLayer + 7 * kExpert) * 4);
  // Routers and the shared experts' gates are no codes either.
  EXPECT_EQ(streamed_weight_bytes(config, WeightType(WeightFormat::kInt8), 7),
            3 * 192 + 384 + 2 * 3 * 12 * 8 + 7 * kExpert + (56 + 80 + 2 * (5 * 8 + 8)) * 4);
  EXPECT_EQ(prefill_flop(config, 0, 1),
            2.0 * (kBody + 2 * (kExpertLayer + 2 * kExpert)) + 2.0 * 80 + 3 * 32.0);
}

TEST(Costs, StepReadsSharedTokensOnce) {
  const auto tokens_read = [](const model::ModelConfig& config, double context, int64_t shared) {
    const DecodeStep step{.batch = 3, .context = context, .shared = shared};
    return (decode_bytes(config, DType::kF32, DType::kF32, step) - (kBody + 80) * 4) / 32;
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
  // In the last layer, here the only one, two tokens of three need keys and values alone: 64
  // weights.
  const double products = 2.0 * (kBody + 2 * 64) + 2.0 * 80;
  // The last of three tokens sees 3 keys; 4 * heads * head_dim = 32 operations for each pair.
  EXPECT_EQ(prefill_flop(tiny(false), 0, 3), products + 32.0 * 3);
  EXPECT_EQ(prefill_flop(tiny(false), 5, 1), 2.0 * kBody + 2.0 * 80 + 32.0 * 6);
  model::ModelConfig window = tiny(false);
  window.sliding_window = 2;
  EXPECT_EQ(prefill_flop(window, 0, 3), products + 32.0 * 2);
  // All three tokens see 1 + 2 + 3 keys in the layers before the last.
  model::ModelConfig deep = tiny(false);
  deep.layers = 2;
  const double layer = 2.0 * 3 * static_cast<double>(deep.parameters() - tiny(false).parameters());
  EXPECT_NEAR(prefill_flop(deep, 0, 3) - prefill_flop(tiny(false), 0, 3), layer + 32.0 * 6, 100);
}

TEST(Costs, StepComputesOnePositionOfEachSequence) {
  // Five cached tokens and its own: six pairs of 32 operations, for each of three sequences.
  EXPECT_EQ(decode_flop(tiny(false), 3, 5), 3 * (2.0 * kBody + 2.0 * 80 + 32.0 * 6));
}

TEST(Costs, LimitsComeFromTheRecordAndMayBeMissing) {
  const Machine machine = {.limits = {{"f32_gflop_s", 100.0}, {"bf16_gflop_s", 300.0}}};
  EXPECT_EQ(gflop_limit(machine, DType::kF32), 100);
  EXPECT_EQ(gflop_limit(machine, DType::kBF16), 300);
  EXPECT_EQ(gflop_limit(Machine(), DType::kF32), 0);
  EXPECT_EQ(memory_limit(machine, 1e15).gb_s, 0);
  const Machine of_record = {.l3_bytes = 1000,
                             .limits = {{"dram_read_gb_s", 10.0}, {"l3_read_gb_s", 20.0}}};
  EXPECT_EQ(memory_limit(of_record, 1000).gb_s, 20) << "what the record's machine holds in its L3";
  EXPECT_EQ(memory_limit(of_record, 1001).gb_s, 10);
  Machine of_several = of_record;
  of_several.l3_instances = 4;  // each core keeps what it reads in its own L3
  EXPECT_EQ(memory_limit(of_several, 4000).gb_s, 20);
  EXPECT_EQ(memory_limit(of_several, 4001).gb_s, 10);
}

TEST(Costs, WhereADeviceComputesTheLimitsAreItsOwn) {
  const MachineDevice device = {
      .l2_bytes = 500,
      .limits = {{"read_gb_s", 2000.0}, {"l2_read_gb_s", 4000.0}, {"half_tflop_s", 600.0}}};
  const Machine machine = {
      .l3_bytes = 1000,
      .limits = {{"dram_read_gb_s", 10.0}, {"f32_gflop_s", 100.0}, {"bf16_gflop_s", 300.0}},
      .device = device};
  EXPECT_EQ(gflop_limit(machine, DType::kBF16), 600e3);
  EXPECT_EQ(gflop_limit(machine, DType::kF16), 600e3);
  EXPECT_EQ(gflop_limit(machine, DType::kF32), 0) << "not measured";
  EXPECT_EQ(dram_limit(machine), 2000);
  EXPECT_EQ(memory_limit(machine, 500).gb_s, 4000);
  EXPECT_EQ(memory_limit(machine, 501).gb_s, 2000);
  EXPECT_STREQ(memory_limit(machine, 501).level, "device");
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
