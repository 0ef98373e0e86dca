// Tiny models and databases of their prompts, for tests.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/model/network/encoder.h"
#include "methods/attn_cache/attn_cache.h"
#include "methods/attn_cache/collect.h"
#include "methods/attn_cache/database.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"
#include "tests/support/policy_run.h"
#include "tests/support/tiny_models.h"

namespace reprise::attn_cache {

inline Json tiny_llama(int64_t layers = 5) {
  Json json = reprise::testing::scaled_down("tinyllama-1.1b");
  json["num_hidden_layers"] = layers;
  return json;
}

inline Json tiny_bert() {
  return {{"model_type", "bert"},     {"vocab_size", 97},
          {"hidden_size", 80},        {"num_hidden_layers", 3},
          {"num_attention_heads", 4}, {"intermediate_size", 75},
          {"hidden_act", "gelu"},     {"max_position_embeddings", 64},
          {"type_vocab_size", 2},     {"layer_norm_eps", 1e-12}};
}

// A model whose attention scores depend on relative positions.
inline Json tiny_deberta() {
  Json json = tiny_bert();
  json.update({{"model_type", "deberta-v2"},
               {"type_vocab_size", 0},
               {"relative_attention", true},
               {"position_buckets", 8},
               {"norm_rel_ebd", "layer_norm"},
               {"share_att_key", true},
               {"pos_att_type", {"p2c", "c2p"}},
               {"position_biased_input", false},
               {"max_relative_positions", -1}});
  return json;
}

// A model, and the folder for a database of it.
struct Fixture {
  Context context = Context::machine();
  std::unique_ptr<model::Decoder> decoder;
  model::TempDir folder;
  ModelFacts facts;

  explicit Fixture(const Json& config, DType dtype = DType::kF32)
      : decoder(reprise::testing::random_decoder(config, context, dtype)) {
    const model::ModelConfig& shape = decoder->config();
    facts = {.fingerprint = "tiny",
             .layers = shape.layers,
             .heads = shape.heads,
             .hidden = shape.hidden,
             .is_causal = shape.is_causal,
             .can_mix = shape.relative.span == 0};
  }

  // Last hidden states of a prompt.
  std::vector<float> run(std::span<const int32_t> ids, model::LayerPolicy* policy = nullptr) {
    if (decoder->config().is_causal)
      return reprise::testing::hidden_with(*decoder, ids, policy, decoder->dtype());
    return run_together({std::vector<int32_t>(ids.begin(), ids.end())}, policy);
  }
  // Last hidden states of several texts in one step. Needs an encoder.
  std::vector<float> run_together(const std::vector<std::vector<int32_t>>& texts,
                                  model::LayerPolicy* policy = nullptr) {
    std::vector<model::EncoderText> views;
    size_t tokens = 0;
    for (const auto& text : texts) {
      views.push_back({.ids = text, .token_types = {}});
      tokens += text.size();
    }
    std::vector<float> hidden(tokens * static_cast<size_t>(facts.hidden));
    model::Encoder(*decoder).encode({.texts = views, .policy = policy}, hidden);
    return hidden;
  }
  RunPrompt runner() {
    return [this](std::span<const int32_t> ids, model::LayerPolicy& policy) {
      (void)run(ids, &policy);
    };
  }

  // Collects `prompts` with `run_prompt` (runner() if it is empty), and indexes them by a random
  // projector.
  std::shared_ptr<Database> build(const AttnCacheOptions& options,
                                  const std::vector<std::vector<int32_t>>& prompts,
                                  const RunPrompt& run_prompt = {}) {
    const SampleSet samples =
        collect(folder.path(), facts, options, prompts, run_prompt ? run_prompt : runner());
    return std::make_shared<Database>(
        folder.path(), facts, options, samples,
        Projector::random(samples.shape, 1, facts.fingerprint, context));
  }
};

inline std::vector<std::vector<int32_t>> some_prompts(int32_t count, int32_t tokens) {
  std::vector<std::vector<int32_t>> prompts;
  for (int32_t i = 0; i < count; ++i)
    prompts.push_back(reprise::testing::some_prompt(tokens, i + 1));
  return prompts;
}

}  // namespace reprise::attn_cache
