// config.json of MPT, with its nested attn_config.
#include <cmath>

#include "core/base/error.h"
#include "core/model/config/config_families.h"

namespace reprise::model {
namespace {

// `is_trained`: follow the models' training in the places where transformers differs from it.
void read_attention(JsonObject attention, bool is_trained, ModelConfig& config) {
  if (!attention.boolean("alibi", true))
    raise("{} is false: learned positions are not supported, only ALiBi", attention.where("alibi"));
  config.position = PositionScheme::kAlibi;
  // transformers 5 computes the slopes with bias_max 8, whatever the file says (MptModel.forward
  // does not pass the number on). Reference logits are computed with transformers, so 8 is the
  // default. MPT-7B-StoryWriter was trained with 16.
  const double bias_max = read_positive(attention, "alibi_bias_max", 8.0);
  config.alibi = {.bias_max = is_trained ? bias_max : 8.0};
  config.clip_qkv = attention.number("clip_qkv", 0.0);  // 0 or null: none
  if (config.clip_qkv < 0.0)
    raise("{} is {}, it must not be negative", attention.where("clip_qkv"), config.clip_qkv);
  config.attention_scale = read_positive(attention, "softmax_scale",
                                         1.0 / std::sqrt(static_cast<double>(config.head_dim)));
  read_choice(attention, "attn_type", {"multihead_attention"});
  for (const char* key : {"qk_ln", "qk_gn", "prefix_lm", "attn_uses_sequence_id", "rope"})
    require_off(attention, key);
  if (attention.has("kv_n_heads") && attention.integer("kv_n_heads") != config.heads)
    raise("{} is not n_heads: grouped queries are not supported here",
          attention.where("kv_n_heads"));
  if (attention.integer("sliding_window_size", -1) != -1)
    raise("{} is not supported, it must be -1", attention.where("sliding_window_size"));
  reject_unsupported_keys(attention);
}

}  // namespace

void read_mpt(JsonObject& json, ModelConfig& config) {
  config.family = Family::kMpt;
  config.vocab = read_count(json, "vocab_size", kMaxVocab);
  config.hidden = read_count(json, "d_model", kMaxWidth);
  config.layers = read_count(json, "n_layers", kMaxLayers);
  config.heads = config.kv_heads = read_count(json, "n_heads", kMaxHeads);
  config.head_dim = head_dim_of(config, json, "n_heads");
  const int64_t ratio = read_count(json, "expansion_ratio", 64, 4);
  config.intermediate = ratio * config.hidden;
  if (config.intermediate > kMaxIntermediate)
    raise("{} is {}: an MLP of {} is wider than {}", json.where("expansion_ratio"), ratio,
          config.intermediate, kMaxIntermediate);
  config.max_positions = read_count(json, "max_seq_len", kMaxPositions, 2048);

  config.norm = Norm::kLayer;
  read_choice(json, "norm_type", {"low_precision_layernorm", "layernorm"});
  config.norm_epsilon = read_positive(json, "layer_norm_epsilon", 1e-5);
  config.activation = Activation::kGelu;
  config.gated_mlp = false;
  config.block = BlockStyle::kSequential;
  const bool has_bias = !json.boolean("no_bias", true);
  config.norm_bias = config.qkv_bias = config.attention_out_bias = config.mlp_bias = has_bias;
  const Fields none;
  const bool is_trained = read_choice(json, "reprise_alibi", {"eager", "trained"}) == "trained";
  if (json.has("attn_config")) {
    read_attention(json.object("attn_config"), is_trained, config);
  } else {
    read_attention(JsonObject(none, json.where("attn_config")), is_trained, config);
  }
  config.tied_embeddings = json.boolean("tie_word_embeddings", true);
  json.allow({"embedding_fraction", "learned_pos_emb", "fc_type"});
  if (json.has("logit_scale"))
    raise("{} is not supported, it must be null", json.where("logit_scale"));
  if (json.has("ffn_config")) {
    JsonObject ffn = json.object("ffn_config");
    read_choice(ffn, "ffn_type", {"mptmlp"});
    reject_unsupported_keys(ffn);
  }
  read_token_ids(json, -1, -1, config);
}

}  // namespace reprise::model
