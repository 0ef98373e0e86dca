// Tests the least times of made-up steps.
#include "experiments/kinds/serving/serving_steps.h"

#include <gtest/gtest.h>

#include "experiments/kinds/shared/costs.h"
#include "tests/experiments/kinds/shared/measured_value.h"

namespace reprise::experiments {
namespace {

// One layer, and a head that is larger than the layer.
model::ModelConfig tiny() {
  model::ModelConfig config;
  config.vocab = 1000;
  config.hidden = 8;
  config.layers = 1;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 4;
  config.intermediate = 16;
  config.max_positions = 64;
  return config;
}

// Method `recompute` computes all rows of a sequence for each token.
TEST(ServingSteps, ASequenceHasOneRowOfLogitsHoweverManyRowsItComputes) {
  Machine machine;
  machine.limits = {{"f32_gflop_s", 1.0}, {"dram_read_gb_s", 1e6}};
  const auto limit_s = [&](const serving::StepEntry& step) {
    serving::RequestLog log;
    log.steps = {step};
    Measurement out;
    add_step_times(tiny(), Group(), &machine, log, out);
    return value_of(out, "steps_limit_s");
  };
  EXPECT_DOUBLE_EQ(limit_s({.end_s = 1, .decode_tokens = 100, .batch = 1}),
                   product_flop(tiny(), 100, 1) * 1e-9);
  EXPECT_DOUBLE_EQ(limit_s({.end_s = 1, .decode_tokens = 3, .batch = 4}),
                   product_flop(tiny(), 3, 3) * 1e-9);
}

}  // namespace
}  // namespace reprise::experiments
