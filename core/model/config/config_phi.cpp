// Reads config.json of Phi (1, 1.5, 2): parallel block with one layer norm, biases everywhere,
// partial rotary.
#include <cmath>

#include "core/model/config/config_families.h"

namespace reprise::model {

void read_phi(JsonObject& json, ModelConfig& config) {
  config.family = Family::kPhi;
  config.vocab = read_count(json, "vocab_size", kMaxVocab);
  config.hidden = read_count(json, "hidden_size", kMaxWidth);
  config.layers = read_count(json, "num_hidden_layers", kMaxLayers);
  config.heads = read_count(json, "num_attention_heads", kMaxHeads);
  config.kv_heads = read_count(json, "num_key_value_heads", kMaxHeads, config.heads);
  check_grouping(config, json, "num_key_value_heads");
  config.head_dim = read_head_dim(json, config);
  config.intermediate = read_count(json, "intermediate_size", kMaxIntermediate);
  config.max_positions = read_count(json, "max_position_embeddings", kMaxPositions, 2048);

  config.norm = Norm::kLayer;
  config.norm_bias = true;
  config.norm_epsilon = read_positive(json, "layer_norm_eps", 1e-5);
  // All three names mean the same function.
  read_choice(json, "hidden_act", {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"});
  config.activation = Activation::kGeluTanh;
  config.gated_mlp = false;
  config.block = BlockStyle::kParallelOneNorm;
  config.position = PositionScheme::kRotary;
  config.rotary = read_rotary(json, config, 0.5);
  config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  config.qkv_bias = config.attention_out_bias = config.mlp_bias = config.head_bias = true;
  config.tied_embeddings = json.boolean("tie_word_embeddings", false);
  require_off(json, "qk_layernorm");
  read_token_ids(json, 1, 2, config);
}

}  // namespace reprise::model
