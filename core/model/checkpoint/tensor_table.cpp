#include "core/model/checkpoint/tensor_table.h"

#include "core/base/error.h"

namespace reprise::model {
namespace {

using Config = const ModelConfig&;

bool yes(Config) { return true; }
bool no(Config) { return false; }
int64_t one(Config) { return 1; }
int64_t hidden(Config config) { return config.hidden; }
int64_t vocab(Config config) { return config.vocab; }
int64_t q_dim(Config config) { return config.q_dim(); }
int64_t qkv_dim(Config config) { return config.q_dim() + 2 * config.kv_dim(); }
int64_t intermediate(Config config) { return config.intermediate; }
int64_t up_dim(Config config) { return (config.gated_mlp ? 2 : 1) * config.intermediate; }
int64_t experts(Config config) { return config.experts.count; }
int64_t expert_width(Config config) { return config.experts.intermediate; }
int64_t expert_up_dim(Config config) { return 2 * config.experts.intermediate; }
int64_t shared_width(Config config) { return config.experts.shared_intermediate; }
int64_t shared_up_dim(Config config) { return 2 * config.experts.shared_intermediate; }
bool has_shared(Config config) { return config.experts.shared_intermediate > 0; }
bool has_shared_gate(Config config) { return has_shared(config) && config.experts.shared_gate; }
bool norm_bias(Config config) { return config.norm_bias; }
bool mlp_bias(Config config) { return config.mlp_bias; }
bool has_second_norm(Config config) { return config.block != BlockStyle::kParallelOneNorm; }
bool has_final_norm(Config config) { return config.block != BlockStyle::kPostNorm; }
bool has_position_key(Config config) {
  const RelativeConfig& relative = config.relative;
  return relative.span > 0 && relative.has_keys && !relative.shares_projections;
}
bool has_position_query(Config config) {
  const RelativeConfig& relative = config.relative;
  return relative.span > 0 && relative.has_queries && !relative.shares_projections;
}
bool has_convolution(Config config) { return config.convolution.kernel > 0; }
int64_t taps_dim(Config config) { return config.hidden * config.convolution.kernel; }
bool second_norm_bias(Config config) { return has_second_norm(config) && norm_bias(config); }

// clang-format off
constexpr PartRow kTable[] = {
    {Part::kEmbedding, "embedding", Stage::kBeforeLayers, PartKind::kTable, yes, no, vocab, hidden,
     {"embed_tokens", "word_embeddings", "word_embeddings", "wte", "embed_tokens",
      "embeddings.word_embeddings"}},
    {Part::kPositions, "positions", Stage::kBeforeLayers, PartKind::kTable,
     [](Config config) { return config.position == PositionScheme::kLearned; }, no,
     [](Config config) { return config.max_positions + config.learned_offset; }, hidden,
     {"", "", "", "", "", "embeddings.position_embeddings"}},
    {Part::kTokenTypes, "token types", Stage::kBeforeLayers, PartKind::kTable,
     [](Config config) { return config.token_types > 0; }, no,
     [](Config config) { return config.token_types; }, hidden,
     {"", "", "", "", "", "embeddings.token_type_embeddings"}},
    {Part::kEmbeddingNorm, "embedding norm", Stage::kBeforeLayers, PartKind::kNorm,
     [](Config config) { return config.embedding_norm; },
     [](Config config) { return config.embedding_norm && norm_bias(config); }, one, hidden,
     {"", "", "", "", "", "embeddings.LayerNorm"}},
    {Part::kRelativePositions, "relative positions", Stage::kBeforeLayers, PartKind::kTable,
     [](Config config) { return config.relative.span > 0; }, no,
     [](Config config) { return 2 * config.relative.span; }, hidden,
     {"", "", "", "", "", "encoder.rel_embeddings"}},
    {Part::kRelativeNorm, "norm of relative positions", Stage::kBeforeLayers, PartKind::kNorm,
     [](Config config) { return config.relative.has_norm; },
     [](Config config) { return config.relative.has_norm && norm_bias(config); }, one, hidden,
     {"", "", "", "", "", "encoder.LayerNorm"}},
    {Part::kConvolution, "convolution", Stage::kBeforeLayers, PartKind::kMatrix, has_convolution,
     has_convolution, hidden, taps_dim, {"", "", "", "", "", "", "", "", "encoder.conv.conv"}},
    {Part::kConvolutionNorm, "norm of the convolution", Stage::kBeforeLayers, PartKind::kNorm,
     has_convolution, [](Config config) { return has_convolution(config) && norm_bias(config); }, one, hidden,
     {"", "", "", "", "", "", "", "", "encoder.conv.LayerNorm"}},
    {Part::kNorm1, "first norm", Stage::kLayer, PartKind::kNorm, yes, norm_bias, one, hidden,
     {"input_layernorm", "input_layernorm", "ln_attn", "norm_1", "input_layernorm",
      "attention.output.LayerNorm"}},
    {Part::kQkv, "q, k and v", Stage::kLayer, PartKind::kMatrix,
     yes, [](Config config) { return config.qkv_bias; }, qkv_dim, hidden,
     {"self_attn.q_proj self_attn.k_proj self_attn.v_proj", "self_attention.query_key_value",
      "self_attention.query_key_value", "attn.Wqkv",
      "self_attn.q_proj self_attn.k_proj self_attn.v_proj",
      "attention.self.query attention.self.key attention.self.value", nullptr, "attention.self.in_proj",
      "attention.self.query_proj attention.self.key_proj attention.self.value_proj"}},
    {Part::kPositionKey, "key projection of positions", Stage::kLayer, PartKind::kMatrix, has_position_key,
     // The first DeBERTa has no bias for this part.
     [](Config config) { return has_position_key(config) && naming_of(config) != Naming::kDebertaV1; },
     q_dim, hidden,
     {"", "", "", "", "", "", "", "attention.self.pos_proj", "attention.self.pos_key_proj"}},
    {Part::kPositionQuery, "query projection of positions", Stage::kLayer, PartKind::kMatrix,
     has_position_query, has_position_query, q_dim, hidden,
     {"", "", "", "", "", "", "", "attention.self.pos_q_proj", "attention.self.pos_query_proj"}},
    {Part::kAttentionOut, "attention output", Stage::kLayer, PartKind::kMatrix,
     yes, [](Config config) { return config.attention_out_bias; }, hidden, q_dim,
     {"self_attn.o_proj", "self_attention.dense", "self_attention.dense", "attn.out_proj",
      "self_attn.dense", "attention.output.dense"}},
    {Part::kNorm2, "second norm", Stage::kLayer, PartKind::kNorm,
     has_second_norm, second_norm_bias, one, hidden,
     {"post_attention_layernorm", "post_attention_layernorm", "ln_mlp", "norm_2", "", "output.LayerNorm"}},
    {Part::kUp, "up", Stage::kDenseLayer, PartKind::kMatrix, yes, mlp_bias, up_dim, hidden,
     {"mlp.gate_proj mlp.up_proj", "mlp.dense_h_to_4h", "mlp.dense_h_to_4h", "ffn.up_proj",
      "mlp.fc1", "intermediate.dense"}},
    {Part::kDown, "down", Stage::kDenseLayer, PartKind::kMatrix, yes, mlp_bias, hidden, intermediate,
     {"mlp.down_proj", "mlp.dense_4h_to_h", "mlp.dense_4h_to_h", "ffn.down_proj", "mlp.fc2",
      "output.dense"}},
    {Part::kRouter, "router", Stage::kExpertLayer, PartKind::kMatrix, yes, no, experts, hidden,
     {"mlp.gate", "", "", "", "", "", "block_sparse_moe.gate"}},
    {Part::kSharedUp, "up of the shared expert", Stage::kExpertLayer, PartKind::kMatrix, has_shared, no,
     shared_up_dim, hidden,
     {"mlp.shared_expert.gate_proj mlp.shared_expert.up_proj", "", "", "", "", "", "", nullptr, nullptr,
      "mlp.shared_experts.gate_proj mlp.shared_experts.up_proj"}},
    {Part::kSharedDown, "down of the shared expert", Stage::kExpertLayer, PartKind::kMatrix, has_shared, no,
     hidden, shared_width,
     {"mlp.shared_expert.down_proj", "", "", "", "", "", "", nullptr, nullptr,
      "mlp.shared_experts.down_proj"}},
    {Part::kSharedGate, "gate of the shared expert", Stage::kExpertLayer, PartKind::kMatrix,
     has_shared_gate, no, one, hidden, {"mlp.shared_expert_gate", "", "", "", "", "", ""}},
    {Part::kExpertUp, "up", Stage::kExpert, PartKind::kMatrix, yes, no, expert_up_dim, hidden,
     {"mlp.experts.@.gate_proj mlp.experts.@.up_proj", "", "", "", "", "",
      "block_sparse_moe.experts.@.w1 block_sparse_moe.experts.@.w3"}},
    {Part::kExpertDown, "down", Stage::kExpert, PartKind::kMatrix, yes, no, hidden, expert_width,
     {"mlp.experts.@.down_proj", "", "", "", "", "", "block_sparse_moe.experts.@.w2"}},
    {Part::kFinalNorm, "final norm", Stage::kAfterLayers, PartKind::kNorm,
     has_final_norm, [](Config config) { return has_final_norm(config) && norm_bias(config); }, one,
     hidden, {"norm", "ln_f", "ln_f", "norm_f", "final_layernorm", ""}},
    {Part::kHead, "head", Stage::kAfterLayers, PartKind::kMatrix,
     [](Config config) { return config.has_head && !config.tied_embeddings; },
     [](Config config) { return config.head_bias; }, vocab, hidden,
     {"/lm_head", "/lm_head", "/lm_head", "/lm_head", "/lm_head", ""}},
};
// clang-format on
static_assert(std::size(kTable) == kParts);

}  // namespace

std::span<const PartRow> part_table() { return kTable; }

std::string_view stored_names(const PartRow& row, Naming naming) {
  const char* names = row.names[static_cast<size_t>(naming)];
  if (names != nullptr) return names;
  // DeBERTa uses BERT's names except for attention's inputs. Mixtral and DeepSeek-MoE use Llama's
  // names except for experts.
  const bool is_deberta = naming == Naming::kDebertaV1 || naming == Naming::kDeberta;
  const char* usual = row.names[static_cast<size_t>(is_deberta ? Naming::kBert : Naming::kLlama)];
  return usual != nullptr ? usual : "";
}

const PartRow& row_of(Part part) {
  for (const PartRow& row : kTable)
    if (row.part == part) return row;
  REPRISE_CHECK(false, "part {}", static_cast<int>(part));
  return kTable[0];
}

Naming naming_of(const ModelConfig& config) {
  switch (config.family) {
    case Family::kLlama:  // the model types of this family differ in the experts' names
      if (config.model_type == "deepseek") return Naming::kDeepseek;
      return config.model_type == "mixtral" ? Naming::kMixtral : Naming::kLlama;
    case Family::kFalcon:
      return config.block == BlockStyle::kParallelTwoNorms ? Naming::kFalconTwoNorms
                                                           : Naming::kFalcon;
    case Family::kMpt:
      return Naming::kMpt;
    case Family::kPhi:
      return Naming::kPhi;
    case Family::kBert:
      return Naming::kBert;
    case Family::kDeberta:
      return config.model_type == "deberta" ? Naming::kDebertaV1 : Naming::kDeberta;
  }
  raise("unknown family {}", static_cast<int>(config.family));
}

std::string_view name_prefix(const ModelConfig& config) {
  const Naming naming = naming_of(config);
  // BERT and RoBERTa have the same naming but different prefixes.
  if (naming == Naming::kBert && config.model_type == "roberta") return "roberta.";
  constexpr std::array<std::string_view, kNamings> kPrefixes = {
      "model.", "transformer.", "transformer.", "transformer.", "model.",
      "bert.",  "model.",       "deberta.",     "deberta.",     "model."};
  return kPrefixes[static_cast<size_t>(naming)];
}

std::string_view layers_name(Naming naming) {
  constexpr std::array<std::string_view, kNamings> kNames = {
      "layers",        "h",     "h", "blocks", "layers", "encoder.layer", "layers", "encoder.layer",
      "encoder.layer", "layers"};
  return kNames[static_cast<size_t>(naming)];
}

PartKind kind_of(Part part) { return row_of(part).kind; }

WeightType held_type(Part part, const WeightType& type) {
  const PartRow& row = row_of(part);
  const bool is_of_layer = row.stage != Stage::kBeforeLayers && row.stage != Stage::kAfterLayers;
  const bool takes_codes = row.kind == PartKind::kMatrix && is_of_layer && part != Part::kRouter &&
                           part != Part::kSharedGate;
  return is_quantized(type.format) && !takes_codes ? WeightType(type.input) : type;
}

int64_t weight_bytes(const ModelConfig& config, const WeightType& type) {
  double bits = 0.0;
  for (const TensorSpec& tensor : canonical_tensors(config))
    bits += static_cast<double>(tensor.rows * tensor.cols) *
            bits_per_weight(held_type(tensor.role.part, type).format);
  return static_cast<int64_t>(bits / 8);
}

std::string to_string(const Role& role) {
  std::string text = role.is_bias ? "bias of " : "";
  text += row_of(role.part).text;
  if (role.expert >= 0) text += fmt::format(" of expert {}", role.expert);
  if (role.layer >= 0) text += fmt::format(" of layer {}", role.layer);
  return text;
}

std::vector<TensorSpec> canonical_tensors(const ModelConfig& config) {
  std::vector<TensorSpec> tensors;
  const auto add = [&](const PartRow& row, int64_t layer, int64_t expert) {
    const int64_t rows = row.rows(config), cols = row.cols(config);
    Role role{.part = row.part, .layer = layer, .expert = expert};
    if (row.has_weight(config)) tensors.push_back({role, rows, cols});
    if (!row.has_bias(config)) return;
    role.is_bias = true;
    tensors.push_back({role, 1, row.kind == PartKind::kNorm ? cols : rows});
  };
  const auto add_stage = [&](Stage stage, int64_t layer = -1, int64_t expert = -1) {
    for (const PartRow& row : kTable)
      if (row.stage == stage) add(row, layer, expert);
  };
  add_stage(Stage::kBeforeLayers);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    add_stage(Stage::kLayer, layer);
    const bool has_experts = config.has_experts(layer);
    add_stage(has_experts ? Stage::kExpertLayer : Stage::kDenseLayer, layer);
    for (int64_t e = 0; has_experts && e < config.experts.count; ++e)
      add_stage(Stage::kExpert, layer, e);
  }
  add_stage(Stage::kAfterLayers);
  return tensors;
}

int64_t ModelConfig::parameters() const {
  int64_t count = 0;
  for (const TensorSpec& tensor : canonical_tensors(*this)) count += tensor.rows * tensor.cols;
  return count;
}

int64_t ModelConfig::expert_parameters() const {
  int64_t count = 0;
  for (const TensorSpec& tensor : canonical_tensors(*this))
    if (tensor.role.expert >= 0) count += tensor.rows * tensor.cols;
  return count;
}

}  // namespace reprise::model
