#include "core/model/network/embed.h"

#include "core/base/error.h"
#include "core/kernels/embedding/embedding.h"

namespace reprise::model {
namespace {

void require_within(std::span<const int32_t> ids, int64_t entries, std::string_view what,
                    const std::string& name) {
  for (const int32_t id : ids)
    if (id < 0 || id >= entries)
      raise("{} {} is outside {}'s {}", what, id, name,
            what == "token id" ? fmt::format("vocabulary of {}", entries)
                               : fmt::format("table of {}", entries));
}

}  // namespace

void Embed::run(const StepInput& step) {
  const ModelConfig& config = network_.config;
  require_within(step.ids, config.vocab, "token id", config.name);
  const PartSet& model = network_.weights.model;
  auto* residual = network_.buffers.residual.as<float>();
  kernels::EmbeddingCall words{.ids = step.ids, .out = residual};
  if (model[Part::kEmbedding].table.empty()) {
    words.weight = &model[Part::kHead].matrix;
  } else {
    words.table = model[Part::kEmbedding].table.view();
  }
  words.run(network_.context);
  if (config.position == PositionScheme::kLearned) add_positions(step);
  if (config.token_types > 0) {
    add_types(step);
  } else {
    require_within(step.token_types, 1, "token type", config.name);
  }
  const LoadedPart& norm = model[Part::kEmbeddingNorm];
  const int64_t rows = step.plan.rows();
  if (config.block == BlockStyle::kPostNorm)  // post-norm blocks have no input norm
    network_.norm(norm, residual, rows, network_.buffers.normed.data(), network_.dtype);
  if (config.embedding_norm) network_.norm(norm, residual, rows, residual, DType::kF32);
}

void Embed::add_positions(const StepInput& step) {
  const ModelConfig& config = network_.config;
  require_within(step.plan.row_positions, config.max_positions, "position", config.name);
  indices_.clear();
  // In RoBERTa's table, the row of position 0 follows the row of padding tokens. A padding token
  // inside a text takes that row, and later tokens are numbered as if it were not there. (An
  // encoder's texts are whole and in order, so counting restarts at position 0.)
  const auto offset = static_cast<int32_t>(config.learned_offset);
  const int32_t padding = offset - 1;  // -1: none
  int32_t skipped = 0;
  for (size_t row = 0; row < step.ids.size(); ++row) {
    const int32_t position = step.plan.row_positions[row];
    if (position == 0) skipped = 0;
    const bool is_padding = step.ids[row] == padding;
    indices_.push_back(is_padding ? padding : position - skipped + offset);
    if (is_padding) ++skipped;
  }
  add(Part::kPositions, indices_);
}

void Embed::add_types(const StepInput& step) {
  const ModelConfig& config = network_.config;
  if (!step.token_types.empty()) {
    require_within(step.token_types, config.token_types, "token type", config.name);
    return add(Part::kTokenTypes, step.token_types);
  }
  indices_.assign(step.ids.size(), 0);
  add(Part::kTokenTypes, indices_);
}

void Embed::add(Part part, std::span<const int32_t> indices) {
  kernels::EmbeddingCall{.table = network_.weights.model[part].table.view(),
                         .ids = indices,
                         .out = network_.buffers.residual.as<float>(),
                         .accumulate = true}
      .run(network_.context);
}

}  // namespace reprise::model
