// Small models of every family, for tests without data: the shipped shapes are scaled down and get
// random weights.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/base/json.h"
#include "core/model/network/decoder.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"

namespace reprise::testing {

// The shape's config.json with fewer layers, heads, dimensions and tokens. The features of its
// family (norms, biases, block style, positions, windows, grouping) stay. Heads are smaller than in
// any real model unless `wanted_head_dim` is given.
inline Json scaled_down(const std::string& shape, int64_t wanted_head_dim = 0) {
  Json json = read_json(std::filesystem::path(REPRISE_SOURCE_DIR) / "models" / "shapes" /
                        (shape + ".json"));
  json["vocab_size"] = 97;
  for (const char* key : {"bos_token_id", "eos_token_id"})
    if (json.contains(key)) json[key] = 1;
  if (json["model_type"] == "mpt") {
    json["n_layers"] = 2;
    json["n_heads"] = 6;  // not a power of two, so that the slopes of ALiBi interleave
    json["d_model"] = 6 * (wanted_head_dim > 0 ? wanted_head_dim : 16);
    return json;
  }
  json["num_hidden_layers"] = 2;
  // The number of heads is odd if the original's is (Falcon-7B), otherwise four, in groups of two
  // if the original has groups.
  const int64_t heads = json["num_attention_heads"];
  const int64_t head_dim = wanted_head_dim > 0 ? wanted_head_dim : 20;
  const int64_t few = heads % 2 == 1 ? 5 : 4;
  const auto shrink_kv = [&](const char* key) {
    if (json.contains(key)) json[key] = json[key] == heads ? few : few / 2;
  };
  shrink_kv("num_key_value_heads");
  shrink_kv("num_kv_heads");
  json["num_attention_heads"] = few;
  json["hidden_size"] = few * head_dim;
  if (json.contains("head_dim")) json["head_dim"] = head_dim;
  if (json.contains("intermediate_size")) json["intermediate_size"] = 75;
  if (json.contains("sliding_window") && !json["sliding_window"].is_null())
    json["sliding_window"] = 6;
  if (json.contains("num_experts")) {  // one dense layer and one with experts
    json["num_experts"] = 7;
    json["num_experts_per_tok"] = 3;
    json["moe_intermediate_size"] = 33;
    json["shared_expert_intermediate_size"] = 50;
    json["mlp_only_layers"] = {0};
  }
  if (json.contains("n_routed_experts")) {  // one dense layer, one with experts, two shared
    json["n_routed_experts"] = 7;
    json["num_experts_per_tok"] = 3;
    json["moe_intermediate_size"] = 25;
  }
  return json;
}

inline std::unique_ptr<model::Decoder> random_decoder(const Json& config, const Context& context,
                                                      DType dtype = DType::kF32,
                                                      uint64_t seed = 1) {
  const model::TempDir dir;
  dir.write("config.json", config.dump());
  return model::load_decoder(dir.path().string(),
                             {.dtype = dtype, .random_weights = true, .seed = seed}, context);
}

}  // namespace reprise::testing
