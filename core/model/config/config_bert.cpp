// config.json of BERT and RoBERTa: post-norm encoders with learned positions and token types.
#include <cmath>

#include "core/base/error.h"
#include "core/model/config/config_families.h"

namespace reprise::model {

void read_post_norm_encoder(JsonObject& json, double norm_epsilon, ModelConfig& config) {
  config.vocab = read_count(json, "vocab_size", kMaxVocab);
  config.hidden = read_count(json, "hidden_size", kMaxWidth);
  config.layers = read_count(json, "num_hidden_layers", kMaxLayers);
  config.heads = config.kv_heads = read_count(json, "num_attention_heads", kMaxHeads);
  config.head_dim = head_dim_of(config, json, "num_attention_heads");
  config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  config.intermediate = read_count(json, "intermediate_size", kMaxIntermediate);
  config.max_positions = read_count(json, "max_position_embeddings", kMaxPositions, 512);

  config.norm = Norm::kLayer;
  config.norm_bias = config.embedding_norm = true;
  config.norm_epsilon = read_positive(json, "layer_norm_eps", norm_epsilon);
  const std::string activation =
      read_choice(json, "hidden_act", {"gelu", "gelu_new", "gelu_pytorch_tanh"});
  config.activation = activation == "gelu" ? Activation::kGelu : Activation::kGeluTanh;
  config.gated_mlp = false;
  config.block = BlockStyle::kPostNorm;
  config.qkv_bias = config.attention_out_bias = config.mlp_bias = true;
  config.is_causal = config.has_head = false;
  require_off(json, "is_decoder");
  json.allow({"classifier_dropout", "tie_word_embeddings"});
  read_token_ids(json, -1, -1, config);
}

void read_bert(JsonObject& json, ModelConfig& config) {
  config.family = Family::kBert;
  read_post_norm_encoder(json, /*norm_epsilon=*/1e-12, config);
  config.token_types = read_count(json, "type_vocab_size", kMaxVocab, 2);
  config.position = PositionScheme::kLearned;
  read_choice(json, "position_embedding_type", {"absolute"});
}

// Position 0 is row pad_token_id + 1 of the position table. Row pad_token_id is that of padding
// tokens (embed.cpp); rows before it are unused.
void read_roberta(JsonObject& json, ModelConfig& config) {
  read_bert(json, config);
  config.learned_offset =
      (json.has("pad_token_id") ? json.integer_in("pad_token_id", 0, config.max_positions - 2)
                                : 1) +
      1;
  config.max_positions -= config.learned_offset;
}

}  // namespace reprise::model
