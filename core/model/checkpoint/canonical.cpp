// The canonical list of a decoder's tensors, and their number of parameters.
#include "core/model/checkpoint/weights.h"

namespace reprise::model {

std::vector<TensorSpec> canonical_tensors(const ModelConfig& config) {
  std::vector<TensorSpec> tensors;
  int64_t layer = -1;
  const auto add = [&](Role role, int64_t rows, int64_t cols) {
    tensors.push_back({.role = role, .layer = layer, .rows = rows, .cols = cols});
  };
  // A matrix and the vector that goes with it, if it has one.
  const auto add_pair = [&](Role role, Role bias_role, int64_t rows, int64_t cols, bool has_bias) {
    add(role, rows, cols);
    if (has_bias) add(bias_role, 1, role_is_norm(role) ? cols : rows);
  };
  const int64_t hidden = config.hidden;
  add(Role::kEmbedding, config.vocab, hidden);
  for (layer = 0; layer < config.layers; ++layer) {
    add_pair(Role::kNorm1, Role::kNorm1Bias, 1, hidden, config.norm_bias);
    add_pair(Role::kQkv, Role::kQkvBias, config.q_dim() + 2 * config.kv_dim(), hidden,
             config.qkv_bias);
    add_pair(Role::kAttentionOut, Role::kAttentionOutBias, hidden, config.q_dim(),
             config.attention_out_bias);
    if (config.block != BlockStyle::kParallelOneNorm)
      add_pair(Role::kNorm2, Role::kNorm2Bias, 1, hidden, config.norm_bias);
    add_pair(Role::kUp, Role::kUpBias, (config.gated_mlp ? 2 : 1) * config.intermediate, hidden,
             config.mlp_bias);
    add_pair(Role::kDown, Role::kDownBias, hidden, config.intermediate, config.mlp_bias);
  }
  layer = -1;
  add_pair(Role::kFinalNorm, Role::kFinalNormBias, 1, hidden, config.norm_bias);
  if (!config.tied_embeddings) add(Role::kHead, config.vocab, hidden);
  if (config.head_bias) add(Role::kHeadBias, 1, config.vocab);
  return tensors;
}

int64_t ModelConfig::parameters() const {
  int64_t count = 0;
  for (const TensorSpec& tensor : canonical_tensors(*this)) count += tensor.rows * tensor.cols;
  return count;
}

}  // namespace reprise::model
