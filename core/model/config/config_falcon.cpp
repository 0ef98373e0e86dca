// Reads config.json of Falcon: RW (sequential, ALiBi), 7B (multi-query, one norm), 40B and 180B
// (grouped, two norms). The keys are today's or those of the first release (RefinedWeb, n_head,
// n_layer, n_head_kv).
#include <cmath>

#include "core/base/error.h"
#include "core/model/config/config_families.h"

namespace reprise::model {
namespace {

// Returns the value under `key` or `old_key`. If both are present, they must agree. If `fallback`
// is 0, one of them is required.
int64_t read_either(JsonObject& json, const std::string& key, const std::string& old_key,
                    int64_t high, int64_t fallback = 0) {
  const bool has_key = json.has(key), has_old = json.has(old_key);
  if (has_key && has_old && json.integer(key) != json.integer(old_key))
    raise("{} and \"{}\" disagree: keep one", json.where(key), old_key);
  if (!has_key && has_old) return read_count(json, old_key, high);
  return fallback > 0 ? read_count(json, key, high, fallback) : read_count(json, key, high);
}

// Returns which norms a block has, and how it combines attention and MLP.
BlockStyle read_block(JsonObject& json, bool is_new) {
  const bool is_parallel = json.boolean("parallel_attn", true);
  const int64_t norms = json.has("num_ln_in_parallel_attn")
                            ? json.integer_in("num_ln_in_parallel_attn", 1, 2)
                            : (is_new ? 2 : 1);
  if (is_new && !is_parallel)
    raise("{} is false, which new_decoder_architecture does not know", json.where("parallel_attn"));
  if (!is_new && is_parallel && norms == 2)
    raise("{} is 2, which needs new_decoder_architecture", json.where("num_ln_in_parallel_attn"));
  if (!is_parallel) return BlockStyle::kSequential;
  return norms == 2 ? BlockStyle::kParallelTwoNorms : BlockStyle::kParallelOneNorm;
}

int64_t read_kv_heads(JsonObject& json, const ModelConfig& config, bool is_new) {
  const bool is_multi_query = json.boolean("multi_query", true);
  const int64_t stated = read_either(json, "num_kv_heads", "n_head_kv", kMaxHeads, config.heads);
  if (is_new) return stated;
  if (is_multi_query) return 1;  // num_kv_heads is ignored: Falcon-7B's file says 71
  if (stated != config.heads)
    raise(
        "{} is {}, but without multi_query and new_decoder_architecture each of the {} heads has "
        "its own keys",
        json.where("num_kv_heads"), stated, config.heads);
  return stated;
}

}  // namespace

void read_falcon(JsonObject& json, ModelConfig& config) {
  config.family = Family::kFalcon;
  config.vocab = read_count(json, "vocab_size", kMaxVocab);
  config.hidden = read_either(json, "hidden_size", "n_embed", kMaxWidth);
  config.layers = read_either(json, "num_hidden_layers", "n_layer", kMaxLayers);
  config.heads = read_either(json, "num_attention_heads", "n_head", kMaxHeads);
  config.head_dim = head_dim_of(config, json, "num_attention_heads");
  // The first release of 40B had its own model_type and lacks this key.
  const bool is_new = json.boolean("new_decoder_architecture", config.model_type == "RefinedWeb");
  config.kv_heads = read_kv_heads(json, config, is_new);
  check_grouping(config, json, "num_kv_heads");
  config.block = read_block(json, is_new);
  config.intermediate = read_count(json, "ffn_hidden_size", kMaxIntermediate, 4 * config.hidden);
  config.max_positions = read_count(json, "max_position_embeddings", kMaxPositions, 2048);

  config.norm = Norm::kLayer;
  config.norm_bias = true;
  config.norm_epsilon = read_positive(json, "layer_norm_epsilon", 1e-5);
  read_choice(json, "activation", {"gelu"});
  config.activation = Activation::kGelu;
  config.gated_mlp = false;
  config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  if (json.boolean("alibi", false)) {
    config.position = PositionScheme::kAlibi;
    // transformers 5 has two implementations that disagree. Eager attention adds the ALiBi term to
    // the scores, and again through the mask. SDPA adds it once, as in the training of the model.
    // Eager is the default, because reference logits are computed with it. With "reprise_alibi":
    // "trained" in config.json, the term is added once.
    const std::string convention = read_choice(json, "reprise_alibi", {"eager", "trained"});
    config.alibi = {.bias_max = 8.0,
                    .scaled_with_scores = true,
                    .rounded_to_bf16 = true,
                    .times = convention == "trained" ? 1.0 : 2.0};
    json.allow({"rope_theta", "rope_scaling", "rope_parameters"});
  } else {
    config.position = PositionScheme::kRotary;
    config.rotary = read_rotary(json, config, 1.0);
    if (config.rotary.dims != config.head_dim)
      raise("{} is not supported in this family: all of a head rotates",
            json.where("partial_rotary_factor"));
  }
  config.qkv_bias = config.attention_out_bias = config.mlp_bias = json.boolean("bias", false);
  config.tied_embeddings = json.boolean("tie_word_embeddings", true);
  require_off(json, "apply_residual_connection_post_layernorm");
  read_token_ids(json, 11, 11, config);
}

}  // namespace reprise::model
