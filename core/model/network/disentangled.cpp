#include "core/model/network/disentangled.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/model/network/positions.h"

namespace reprise::model {
namespace {

// Returns the table's rows as layers use them: normalized if the config says so, in the model's
// dtype.
AlignedBuffer rows_of_table(const Network& network) {
  const PartSet& model = network.weights.model;
  const Tensor& table = model[Part::kRelativePositions].table;
  const auto elements = static_cast<size_t>(table.elements());
  AlignedBuffer rows(elements * size_of(network.dtype));
  if (!network.config.relative.has_norm) {
    std::memcpy(rows.data(), table.data(), rows.bytes());
    return rows;
  }
  AlignedBuffer plain(elements * sizeof(float));
  convert(table.data(), table.dtype(), plain.data(), DType::kF32, elements);
  network.norm(model[Part::kRelativeNorm], plain.as<float>(), table.shape()[0], rows.data(),
               network.dtype);
  return rows;
}

}  // namespace

Disentangled::Disentangled(Network& network)
    : network_(network), layers_(static_cast<size_t>(network.config.layers)) {
  REPRISE_CHECK(network.config.kv_heads == network.config.heads, "{} kv heads of {}",
                network.config.kv_heads, network.config.heads);
  require_device(network.context.device, "attention by relative positions");
  const AlignedBuffer table = rows_of_table(network);
  for (size_t layer = 0; layer < layers_.size(); ++layer)
    project(table.data(), network.layer(static_cast<int64_t>(layer)), layers_[layer]);
}

void Disentangled::project(const void* table, const PartSet& layer, LayerVectors& vectors) {
  const RelativeConfig& relative = network_.config.relative;
  const bool shares = relative.shares_projections;
  // In the shared matrix, the queries' rows come first, then the keys'.
  if (relative.has_keys)
    vectors.keys = turned(layer[shares ? Part::kQkv : Part::kPositionKey],
                          shares ? network_.config.q_dim() : 0, table);
  if (relative.has_queries)
    vectors.queries = turned(layer[shares ? Part::kQkv : Part::kPositionQuery], 0, table);
}

// Returns the product of the table and q_dim rows of the part's matrix, from `first_row` on,
// transposed: [q_dim, stride].
AlignedBuffer Disentangled::turned(const LoadedPart& part, int64_t first_row, const void* table) {
  const int64_t rows = 2 * network_.config.relative.span, cols = network_.config.q_dim();
  AlignedBuffer projected(static_cast<size_t>(rows * cols) * sizeof(float));
  auto* from = projected.as<float>();
  network_.linear_rows(part, first_row, first_row + cols, table, rows, from);
  AlignedBuffer vectors(static_cast<size_t>(rows * cols + kernels::PositionVectors::kReadable) *
                        sizeof(float));
  auto* to = vectors.as<float>();
  parallel_for(network_.context, cols, [&](int64_t col, int) {
    for (int64_t row = 0; row < rows; ++row) to[col * rows + row] = from[row * cols + col];
  });
  return vectors;
}

void Disentangled::begin(const StepInput& step) {
  const kv::AttentionPlan& plan = step.plan;
  texts_.clear();
  int64_t longest = 1;
  for (const kv::WorkItem& item : plan.items) {
    const kernels::TextRows text{item.first_row, item.end_row};
    const bool is_next = text.first_row == (texts_.empty() ? 0 : texts_.back().end_row);
    REPRISE_CHECK(
        is_next && item.mask == kv::Mask::kNone && plan.segment_of(item).tokens == text.tokens(),
        "rows {} to {} are no whole text", text.first_row, text.end_row);
    longest = std::max(longest, text.tokens());
    texts_.push_back(text);
  }
  REPRISE_CHECK(!texts_.empty() && texts_.back().end_row == plan.rows(), "{} rows of {} are texts",
                texts_.empty() ? 0 : texts_.back().end_row, plan.rows());
  if (std::ssize(buckets_) < 2 * longest - 1)
    buckets_ = relative_buckets(network_.config.relative, longest);
}

kernels::DisentangledCall Disentangled::call(int64_t layer, const Qkv& qkv) const {
  const ModelConfig& config = network_.config;
  const LayerVectors& vectors = layers_[static_cast<size_t>(layer)];
  const auto view = [&](const AlignedBuffer& buffer) {
    return kernels::PositionVectors{.data = buffer.as<float>(), .stride = 2 * config.relative.span};
  };
  return {.texts = texts_,
          .q = qkv.q,
          .k = qkv.k,
          .v = qkv.v,
          .row_stride = qkv.row_stride,
          .heads = config.heads,
          .head_dim = config.head_dim,
          .scale = static_cast<float>(config.attention_scale),
          .keys = view(vectors.keys),
          .queries = view(vectors.queries),
          .buckets = buckets_};
}

void Disentangled::attend(int64_t layer, const Qkv& qkv, const kernels::OutputView& out) {
  call(layer, qkv).run(out, workspace_, network_.context);
}

void Disentangled::fill(int64_t layer, const StepInput& step, const Qkv& qkv,
                        std::span<float> biases) {
  const int64_t rows = step.plan.rows();
  const int64_t keys = static_cast<int64_t>(biases.size()) / (network_.config.heads * rows);
  call(layer, qkv).biases(biases.data(), rows, keys, workspace_, network_.context);
}

}  // namespace reprise::model
