// A decoder with predictable tokens, and helpers to read an engine's events.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/base/error.h"
#include "core/engine/engine.h"

namespace reprise::testing {

// A decoder that predicts token + 1 (modulo its vocabulary) after each token, at no cost. It can be
// told to fail.
class CountingDecoder final : public model::Decoder {
 public:
  static constexpr int32_t kVocab = 32;

  CountingDecoder() {
    config_.name = "counting";
    config_.vocab = kVocab;
    config_.layers = config_.heads = config_.kv_heads = 1;
    config_.head_dim = 2;
  }
  [[nodiscard]] const model::ModelConfig& config() const override { return config_; }
  [[nodiscard]] DType dtype() const override { return DType::kF32; }
  [[nodiscard]] int64_t weight_bytes() const override { return 0; }

  void forward(const model::StepInput& input, const model::StepOutput& output) override {
    ++steps;
    if (steps == failing_step) raise("the device is gone");
    EXPECT_EQ(input.plan.rows(), static_cast<int32_t>(input.ids.size()));
    EXPECT_GT(input.plan.rows(), 0);
    rows.push_back(input.plan.rows());
    std::fill(output.logits.begin(), output.logits.end(), 0.0f);
    for (size_t i = 0; i < input.logit_rows.size(); ++i) {
      const int32_t id = input.ids[static_cast<size_t>(input.logit_rows[i])];
      const std::span<float> logits = output.logits.subspan(i * kVocab, kVocab);
      logits[static_cast<size_t>((id + 1) % kVocab)] = 1.0f;
      if (steps == nan_step && i + 1 == input.logit_rows.size()) logits[3] = std::nanf("");
    }
  }

  int steps = 0;
  int failing_step = -1, nan_step = -1;
  std::vector<int32_t> rows;  // rows of each step

 private:
  model::ModelConfig config_;
};

using Tokens = std::map<engine::RequestId, std::vector<int32_t>>;

// The tokens of each request that has tokens. Expects that their indices count up.
inline Tokens tokens_of(const std::vector<engine::TokenEvent>& events) {
  Tokens tokens;
  for (const engine::TokenEvent& event : events) {
    if (!event.has_token()) continue;
    EXPECT_EQ(event.index, static_cast<int32_t>(tokens[event.request].size()));
    tokens[event.request].push_back(event.token);
  }
  return tokens;
}

// The last event of each request.
inline std::map<engine::RequestId, engine::TokenEvent> ends_of(
    const std::vector<engine::TokenEvent>& events) {
  std::map<engine::RequestId, engine::TokenEvent> ends;
  for (const engine::TokenEvent& event : events) {
    if (event.finish == engine::FinishReason::kNone) continue;
    EXPECT_TRUE(ends.emplace(event.request, event).second) << event.request << " ended twice";
  }
  return ends;
}

inline std::vector<int32_t> counting_from(int32_t first, int32_t count) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i)
    tokens[static_cast<size_t>(i)] = (first + i) % CountingDecoder::kVocab;
  return tokens;
}

}  // namespace reprise::testing
