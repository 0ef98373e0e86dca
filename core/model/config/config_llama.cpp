// Reads config.json of Llama 1, 2, 3 and Code Llama; of Mistral, a Llama with a window; and of
// Mixtral, Qwen2-MoE and DeepSeek-MoE, Llamas with experts.
#include <cmath>

#include "core/base/error.h"
#include "core/model/config/config_families.h"

namespace reprise::model {
namespace {

// Newer files state the kind of attention of each layer. Files with different kinds are refused.
void check_layer_types(JsonObject& json, const ModelConfig& config) {
  if (!json.has("layer_types")) return;
  const std::string accepted = config.sliding_window > 0 ? "sliding_attention" : "full_attention";
  for (const Value& type : json.list("layer_types"))
    if (!type.is_text() || type.text() != accepted)
      raise("{} holds {}; every layer must be \"{}\" here", json.where("layer_types"), shown(type),
            accepted);
}

struct Defaults {
  int64_t max_positions;
  int64_t kv_heads;  // 0: as many as query heads
  double norm_epsilon = 1e-6;
  double rope_theta = 10000.0;
  int64_t bos_id = 1, eos_id = 2;  // -1: none
};

void read_common(JsonObject& json, const Defaults& defaults, ModelConfig& config) {
  config.family = Family::kLlama;
  config.vocab = read_count(json, "vocab_size", kMaxVocab);
  config.hidden = read_count(json, "hidden_size", kMaxWidth);
  config.layers = read_count(json, "num_hidden_layers", kMaxLayers);
  config.heads = read_count(json, "num_attention_heads", kMaxHeads);
  // An absent key means the default of the model type, such as 8 KV heads for Mistral. Null means
  // as many KV heads as query heads.
  const bool is_absent = !json.fields().contains("num_key_value_heads");
  const int64_t kv_default = is_absent && defaults.kv_heads > 0 ? defaults.kv_heads : config.heads;
  config.kv_heads = read_count(json, "num_key_value_heads", kMaxHeads, kv_default);
  check_grouping(config, json, "num_key_value_heads");
  config.head_dim = read_head_dim(json, config);
  if (config.head_dim % 2 != 0)
    raise("{} is {}, rotary positions need an even number", json.where("head_dim"),
          config.head_dim);
  config.intermediate = read_count(json, "intermediate_size", kMaxIntermediate);
  config.max_positions =
      read_count(json, "max_position_embeddings", kMaxPositions, defaults.max_positions);

  config.norm = Norm::kRms;
  config.norm_epsilon = read_positive(json, "rms_norm_eps", defaults.norm_epsilon);
  read_choice(json, "hidden_act", {"silu", "swish"});
  config.activation = Activation::kSilu;
  config.gated_mlp = true;
  config.block = BlockStyle::kSequential;
  config.position = PositionScheme::kRotary;
  config.rotary.theta = defaults.rope_theta;
  config.rotary = read_rotary(json, config, 1.0);
  if (config.rotary.dims != config.head_dim)
    raise("{} is not supported in this family: all of a head rotates",
          json.where("partial_rotary_factor"));
  config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  config.tied_embeddings = json.boolean("tie_word_embeddings", false);
  read_token_ids(json, defaults.bos_id, defaults.eos_id, config);
}

// Reads the number of experts and the number to which each token is routed. Throws Error if all
// experts of a layer together are wider than a dense MLP may be.
void read_experts(JsonObject& json, const std::string& count_key, int64_t default_count,
                  int64_t default_per_token, ExpertsConfig& experts) {
  experts.count = read_count(json, count_key, kMaxExperts, default_count);
  if (experts.count * experts.intermediate > kMaxIntermediate)
    raise("{}: {} experts of width {} are wider than {} together", json.where(count_key),
          experts.count, experts.intermediate, kMaxIntermediate);
  experts.per_token = read_count(json, "num_experts_per_tok", kMaxExperts, default_per_token);
  if (experts.per_token > experts.count)
    raise("{} is {}, but {} is {}: a token cannot pass more experts than there are",
          json.where("num_experts_per_tok"), experts.per_token, count_key, experts.count);
}

// Reads the number of shared experts, which together are one expert of their summed width.
void read_shared_experts(JsonObject& json, ExpertsConfig& experts) {
  experts.shared_gate = false;
  if (!json.has("n_shared_experts")) return;
  const int64_t shared = json.integer_in("n_shared_experts", 0, kMaxExperts);
  if (shared * experts.intermediate > kMaxIntermediate)
    raise("{}: {} experts of width {} are wider than {} together", json.where("n_shared_experts"),
          shared, experts.intermediate, kMaxIntermediate);
  experts.shared_intermediate = shared * experts.intermediate;
}

void read_dense_layers(JsonObject& json, ModelConfig& config) {
  if (!json.has("mlp_only_layers")) return;
  for (const int64_t layer : json.integers("mlp_only_layers")) {
    if (layer < 0 || layer >= config.layers)
      raise("{} holds {}, but the layers are numbered 0 to {}", json.where("mlp_only_layers"),
            layer, config.layers - 1);
    config.experts.dense_layers.push_back(layer);
  }
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
  constexpr int64_t kDefaultWindow = 4096;  // for an absent key; null means none
  read_common(json, {.max_positions = 4096 * 32, .kv_heads = 8}, config);
  if (json.has("sliding_window")) {
    config.sliding_window = read_count(json, "sliding_window", kMaxPositions);
  } else if (!json.fields().contains("sliding_window")) {
    config.sliding_window = kDefaultWindow;
  }
  require_off(json, "attention_bias");
  require_off(json, "mlp_bias");
  check_layer_types(json, config);
}

void read_mixtral(JsonObject& json, ModelConfig& config) {
  read_common(json,
              {.max_positions = 4096 * 32, .kv_heads = 8, .norm_epsilon = 1e-5, .rope_theta = 1e6},
              config);
  config.experts.intermediate = config.intermediate;
  config.experts.norm_top_k = true;
  read_experts(json, "num_local_experts", 8, 2, config.experts);
  if (json.has("sliding_window"))
    config.sliding_window = read_count(json, "sliding_window", kMaxPositions);
  require_off(json, "attention_bias");
  require_off(json, "mlp_bias");
  check_layer_types(json, config);
}

void read_qwen2_moe(JsonObject& json, ModelConfig& config) {
  read_common(json, {.max_positions = 32768, .kv_heads = 16, .bos_id = -1, .eos_id = -1}, config);
  config.qkv_bias = json.boolean("qkv_bias", true);
  ExpertsConfig& experts = config.experts;
  experts.intermediate = read_count(json, "moe_intermediate_size", kMaxIntermediate, 1408);
  experts.shared_intermediate =
      read_count(json, "shared_expert_intermediate_size", kMaxIntermediate, 5632);
  experts.norm_top_k = json.boolean("norm_topk_prob", false);
  experts.sparse_step = read_count(json, "decoder_sparse_step", kMaxLayers, 1);
  read_experts(json, "num_experts", 60, 4, experts);
  read_dense_layers(json, config);
  // These keys matter only with use_sliding_window, which must be off.
  json.allow({"sliding_window", "max_window_layers"});
  require_off(json, "use_sliding_window");
  require_off(json, "attention_bias");
  require_off(json, "mlp_bias");
  check_layer_types(json, config);
}

void read_deepseek(JsonObject& json, ModelConfig& config) {
  read_common(json, {.max_positions = 2048, .kv_heads = 0, .bos_id = 100000, .eos_id = 100001},
              config);
  config.qkv_bias = config.attention_out_bias = json.boolean("attention_bias", false);
  // Features of DeepSeek-MoE's successors. A file that has them would be computed wrongly, so they
  // must be off.
  for (const char* key : {"sliding_window", "mlp_bias", "kv_lora_rank", "topk_group"})
    require_off(json, key);
  check_layer_types(json, config);
  json.allow({"aux_loss_alpha", "seq_aux"});  // these matter only for training
  if (!json.has("n_routed_experts")) return;  // every layer is dense
  ExpertsConfig& experts = config.experts;
  experts.intermediate = read_count(json, "moe_intermediate_size", kMaxIntermediate, 1407);
  read_experts(json, "n_routed_experts", 1, 1, experts);
  read_shared_experts(json, experts);
  read_choice(json, "scoring_func", {"softmax"});
  // With one expert per token, its probability is kept. Divided by the sum, it would always be 1.
  experts.norm_top_k = json.boolean("norm_topk_prob", false) && experts.per_token > 1;
  const int64_t first = json.integer_in("first_k_dense_replace", 0, config.layers, 0);
  const int64_t frequency = read_count(json, "moe_layer_freq", kMaxLayers, 1);
  for (int64_t layer = 0; layer < config.layers; ++layer)
    if (layer < first || layer % frequency != 0) experts.dense_layers.push_back(layer);
}

}  // namespace reprise::model
