// Runs a prompt through a decoder with a layer policy, for tests of policies.
#pragma once

#include <span>
#include <vector>

#include "core/model/network/decoder.h"
#include "core/model/network/layer_policy.h"
#include "tests/support/run_model.h"

namespace reprise::testing {

// Last hidden states [tokens, hidden] of a prompt computed in one step.
inline std::vector<float> hidden_with(model::Decoder& decoder, std::span<const int32_t> ids,
                                      model::LayerPolicy* policy, DType kv_dtype = DType::kF32) {
  OneSequence sequence(decoder.config(), ids, kv_dtype);
  const auto tokens = static_cast<int32_t>(ids.size());
  const std::vector<int32_t> rows = counted(tokens);
  model::StepInput step = sequence.step(0, tokens);
  step.hidden_rows = rows;
  step.policy = policy;
  std::vector<float> hidden(ids.size() * static_cast<size_t>(decoder.config().hidden));
  decoder.forward(step, {.hidden = hidden});
  return hidden;
}

// A prompt of ids below 97. Another `salt` gives other ids.
inline std::vector<int32_t> some_prompt(int32_t tokens, int32_t salt = 0) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < tokens; ++i)
    ids.push_back((i * i * 7 + i * salt * 5 + salt * 11 + 3) % 97);
  return ids;
}

}  // namespace reprise::testing
