// config.json of Llama 1, 2, 3 and Code Llama, and of Mistral, which is a Llama with a window.
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/model/config/config_families.h"

namespace reprise::model {
namespace {

// Newer files repeat the kind of attention for each layer; ours has one kind for all.
void check_layer_types(JsonObject& json, const ModelConfig& config) {
  if (!json.has("layer_types")) return;
  const Json& types = json.at("layer_types");
  const std::string accepted = config.sliding_window > 0 ? "sliding_attention" : "full_attention";
  for (const Json& type : types)
    if (!type.is_string() || type.get_ref<const std::string&>() != accepted)
      raise("{} holds {}; every layer must be \"{}\" here", json.where("layer_types"),
            type.dump().substr(0, 100), accepted);
}

struct Defaults {
  int64_t max_positions;
  int64_t kv_heads;  // 0: as many as query heads
};

void read_common(JsonObject& json, const Defaults& defaults, ModelConfig& config) {
  config.family = Family::kLlama;
  config.vocab = read_count(json, "vocab_size", kMaxVocab);
  config.hidden = read_count(json, "hidden_size", kMaxWidth);
  config.layers = read_count(json, "num_hidden_layers", kMaxLayers);
  config.heads = read_count(json, "num_attention_heads", kMaxHeads);
  // Absent and null differ: Mistral has 8 where the key is absent, as many as heads where it is
  // null.
  const bool is_absent = !json.json().contains("num_key_value_heads");
  const int64_t kv_default = is_absent && defaults.kv_heads > 0 ? defaults.kv_heads : config.heads;
  config.kv_heads = read_count(json, "num_key_value_heads", kMaxHeads, kv_default);
  check_grouping(config, json, "num_key_value_heads");
  config.head_dim = json.has("head_dim") ? read_count(json, "head_dim", kMaxWidth)
                                         : head_dim_of(config, json, "num_attention_heads");
  if (config.head_dim % 2 != 0)
    raise("{} is {}, rotary positions need an even number", json.where("head_dim"),
          config.head_dim);
  if (config.q_dim() > kMaxWidth)
    raise("{}: {} heads of {} are more than {}", json.where("head_dim"), config.heads,
          config.head_dim, kMaxWidth);
  config.intermediate = read_count(json, "intermediate_size", kMaxIntermediate);
  config.max_positions =
      read_count(json, "max_position_embeddings", kMaxPositions, defaults.max_positions);

  config.norm = Norm::kRms;
  config.norm_epsilon = read_positive(json, "rms_norm_eps", 1e-6);
  read_choice(json, "hidden_act", {"silu", "swish"});
  config.activation = Activation::kSilu;
  config.gated_mlp = true;
  config.block = BlockStyle::kSequential;
  config.position = PositionScheme::kRotary;
  config.rotary = read_rotary(json, config, 1.0);
  if (config.rotary.dims != config.head_dim)
    raise("{} is not supported in this family: all of a head rotates",
          json.where("partial_rotary_factor"));
  config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  config.tied_embeddings = json.boolean("tie_word_embeddings", false);
  read_token_ids(json, 1, 2, config);
}

}  // namespace

void read_llama(JsonObject& json, ModelConfig& config) {
  read_common(json, {.max_positions = 2048, .kv_heads = 0}, config);
  config.qkv_bias = config.attention_out_bias = json.boolean("attention_bias", false);
  config.mlp_bias = json.boolean("mlp_bias", false);
  require_off(json, "sliding_window");
  check_layer_types(json, config);
}

void read_mistral(JsonObject& json, ModelConfig& config) {
  constexpr int64_t kDefaultWindow = 4096;  // where the key is absent; null means none
  read_common(json, {.max_positions = 4096 * 32, .kv_heads = 8}, config);
  if (json.has("sliding_window")) {
    config.sliding_window = read_count(json, "sliding_window", kMaxPositions);
  } else if (!json.json().contains("sliding_window")) {
    config.sliding_window = kDefaultWindow;
  }
  require_off(json, "attention_bias");
  require_off(json, "mlp_bias");
  check_layer_types(json, config);
}

}  // namespace reprise::model
