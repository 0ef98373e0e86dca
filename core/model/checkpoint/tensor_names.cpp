#include "core/model/checkpoint/tensor_names.h"

#include <array>

#include "core/base/error.h"

namespace reprise::model {
namespace {

// The pieces of a canonical tensor, in canonical order, without prefix, layer or ".weight".
struct Names {
  const char* embedding;
  const char* layer;
  const char* norm1;
  const char* norm2;
  std::array<const char*, 3> qkv;  // one name: q, k and v in one tensor
  const char* attention_out;
  std::array<const char*, 2> up;  // gate and up, or up alone
  const char* down;
  const char* final_norm;
};

Names names_of(const ModelConfig& config) {
  switch (config.family) {
    case Family::kLlama:
      return {"embed_tokens",
              "layers",
              "input_layernorm",
              "post_attention_layernorm",
              {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
              "self_attn.o_proj",
              {"mlp.gate_proj", "mlp.up_proj"},
              "mlp.down_proj",
              "norm"};
    case Family::kFalcon: {
      const bool has_two_norms = config.block == BlockStyle::kParallelTwoNorms;
      return {"word_embeddings",
              "h",
              has_two_norms ? "ln_attn" : "input_layernorm",
              has_two_norms ? "ln_mlp" : "post_attention_layernorm",
              {"self_attention.query_key_value"},
              "self_attention.dense",
              {"mlp.dense_h_to_4h"},
              "mlp.dense_4h_to_h",
              "ln_f"};
    }
    case Family::kMpt:
      return {"wte",           "blocks",        "norm_1",        "norm_2", {"attn.Wqkv"},
              "attn.out_proj", {"ffn.up_proj"}, "ffn.down_proj", "norm_f"};
    case Family::kPhi:
      return {"embed_tokens",
              "layers",
              "input_layernorm",
              "",
              {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
              "self_attn.dense",
              {"mlp.fc1"},
              "mlp.fc2",
              "final_layernorm"};
  }
  raise("unknown family {}", static_cast<int>(config.family));
}

bool is_bias(Role role) {
  switch (role) {
    case Role::kNorm1Bias:
    case Role::kNorm2Bias:
    case Role::kQkvBias:
    case Role::kAttentionOutBias:
    case Role::kUpBias:
    case Role::kDownBias:
    case Role::kFinalNormBias:
    case Role::kHeadBias:
      return true;
    default:
      return false;
  }
}

// The piece names of a role and how many outputs (rows of a matrix, elements of a vector) each has.
struct Piece {
  const char* name;
  int64_t outputs;
};

std::vector<Piece> pieces_of(const ModelConfig& config, const TensorSpec& tensor) {
  const Names names = names_of(config);
  const int64_t outputs = tensor.rows == 1 ? tensor.cols : tensor.rows;
  switch (tensor.role) {
    case Role::kEmbedding:
      return {{names.embedding, tensor.rows}};
    case Role::kNorm1:
    case Role::kNorm1Bias:
      return {{names.norm1, outputs}};
    case Role::kNorm2:
    case Role::kNorm2Bias:
      return {{names.norm2, outputs}};
    case Role::kQkv:
    case Role::kQkvBias:
      if (names.qkv[1] == nullptr) return {{names.qkv[0], outputs}};
      return {{names.qkv[0], config.q_dim()},
              {names.qkv[1], config.kv_dim()},
              {names.qkv[2], config.kv_dim()}};
    case Role::kAttentionOut:
    case Role::kAttentionOutBias:
      return {{names.attention_out, config.hidden}};
    case Role::kUp:
    case Role::kUpBias:
      if (!config.gated_mlp) return {{names.up[0], config.intermediate}};
      return {{names.up[0], config.intermediate}, {names.up[1], config.intermediate}};
    case Role::kDown:
    case Role::kDownBias:
      return {{names.down, config.hidden}};
    case Role::kFinalNorm:
    case Role::kFinalNormBias:
      return {{names.final_norm, outputs}};
    case Role::kHead:
    case Role::kHeadBias:
      return {{"lm_head", config.vocab}};
  }
  return {};
}

// Falcon's query_key_value holds, for each KV head, its query heads, its key and its value. One KV
// head (multi-query) makes that [q; k; v], one query head per KV head (RW) makes it [q k v] per
// head.
std::vector<StoredRun> grouped_runs(const ModelConfig& config, int64_t row_elements) {
  const int64_t head = config.head_dim * row_elements;
  const int64_t group_queries = config.heads / config.kv_heads;
  const int64_t stored_group = (group_queries + 2) * head;
  std::vector<StoredRun> runs;
  int64_t first = 0;
  const auto add = [&](int64_t heads, int64_t stored_first) {
    runs.push_back(
        {.first = first, .count = heads * head, .stored = 0, .stored_first = stored_first});
    first += heads * head;
  };
  for (int64_t g = 0; g < config.kv_heads; ++g) add(group_queries, g * stored_group);
  for (int64_t g = 0; g < config.kv_heads; ++g) add(1, g * stored_group + group_queries * head);
  for (int64_t g = 0; g < config.kv_heads; ++g)
    add(1, g * stored_group + (group_queries + 1) * head);
  return runs;
}

}  // namespace

std::string_view name_prefix(Family family) {
  return family == Family::kLlama || family == Family::kPhi ? "model." : "transformer.";
}

StoredLayout stored_layout(const ModelConfig& config, const TensorSpec& tensor) {
  const bool is_vector = is_bias(tensor.role) || role_is_norm(tensor.role);
  const bool is_head = tensor.role == Role::kHead || tensor.role == Role::kHeadBias;
  const int64_t row_elements = is_vector ? 1 : tensor.cols;
  std::string prefix;
  if (!is_head) prefix = name_prefix(config.family);
  if (tensor.layer >= 0) prefix += fmt::format("{}.{}.", names_of(config).layer, tensor.layer);
  StoredLayout layout;
  int64_t first = 0;
  for (const Piece& piece : pieces_of(config, tensor)) {
    StoredTensor stored;
    stored.name = prefix + piece.name + (is_bias(tensor.role) ? ".bias" : ".weight");
    stored.shape = {piece.outputs};
    if (!is_vector) stored.shape.push_back(tensor.cols);
    const int64_t count = piece.outputs * row_elements;
    layout.runs.push_back({.first = first, .count = count, .stored = layout.tensors.size()});
    layout.tensors.push_back(std::move(stored));
    first += count;
  }
  const bool is_qkv = tensor.role == Role::kQkv || tensor.role == Role::kQkvBias;
  if (config.family == Family::kFalcon && is_qkv) layout.runs = grouped_runs(config, row_elements);
  return layout;
}

bool is_ignorable(std::string_view name) { return name.ends_with("rotary_emb.inv_freq"); }

}  // namespace reprise::model
