#include "core/model/network/experts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "core/kernels/rows/combine_rows.h"
#include "core/kernels/rows/gather_rows.h"

namespace reprise::model {

void Experts::prepare(int64_t rows) {
  const ExpertsConfig& experts = network_.config.experts;
  const int64_t pairs = rows * experts.per_token, hidden = network_.config.hidden;
  grow(logits_, rows, experts.count, DType::kF32, network_.context);
  grow(picked_, pairs, hidden, network_.dtype, network_.context);
  grow(made_, pairs, hidden, DType::kF32, network_.context);
  // All rows of a step may choose the same expert, so the buffers of one expert hold all rows.
  feed_forward_.prepare(rows, std::max(experts.intermediate, experts.shared_intermediate));
}

void Experts::route(const PartSet& layer, const void* x, int64_t rows) {
  const ExpertsConfig& experts = network_.config.experts;
  network_.linear(layer[Part::kRouter], x, rows, logits_.data(), DType::kF32);
  chosen_.resize(static_cast<size_t>(rows * experts.per_token));
  weights_.resize(chosen_.size());
  kernels::RoutingCall{.logits = logits(rows * experts.count).data(),
                       .rows = rows,
                       .experts = experts.count,
                       .per_row = experts.per_token,
                       .normalized = experts.norm_top_k,
                       .chosen = chosen_.data(),
                       .weights = weights_.data()}
      .run(on_cpu(network_.context));
  kernels::group_by_expert(chosen_, experts.per_token, experts.count, groups_);
}

std::span<const float> Experts::logits(int64_t count) {
  const auto elements = static_cast<size_t>(count);
  if (network_.context.device == Device::kCpu) return {logits_.as<float>(), elements};
  on_host_.resize(elements);
  network_.copy_out(logits_.data(), on_host_.data(), elements * sizeof(float));
  return on_host_;
}

void Experts::add(const PartSet& layer, const void* x, int64_t rows, float* residual) {
  const int64_t hidden = network_.config.hidden;
  const int64_t row_bytes = hidden * static_cast<int64_t>(size_of(network_.dtype));
  route(layer, x, rows);
  kernels::GatherRowsCall{
      .in = x, .out = picked_.data(), .row_bytes = row_bytes, .rows = groups_.rows}
      .run(network_.context);
  touched_ = 0;
  // Experts run one after the other, each with three parallel_for() calls (two products, one
  // activation). A call costs about 1 us (0.8 to 1.3 us with two threads of a Xeon). Reading an
  // expert of Qwen1.5-MoE (17 MB in bf16) at 20 GB/s takes 0.85 ms, of which three calls are 0.4 %.
  // That is too little to justify a kernel that multiplies with several experts at once.
  for (size_t e = 0; e < layer.experts.size(); ++e) {
    const int64_t first = groups_.begin[e], count = groups_.begin[e + 1] - first;
    if (count == 0) continue;
    ++touched_;
    const PartSet& expert = layer.experts[e];
    feed_forward_.run(expert[Part::kExpertUp], expert[Part::kExpertDown],
                      picked_.as<char>() + first * row_bytes, count,
                      made_.as<float>() + first * hidden, /*accumulate=*/false);
  }
  kernels::CombineRowsCall{.in = made_.as<float>(),
                           .places = groups_.places,
                           .weights = weights_,
                           .out = residual,
                           .rows = rows,
                           .per_row = network_.config.experts.per_token,
                           .cols = hidden}
      .run(network_.context);
  if (network_.config.experts.shared_intermediate > 0) add_shared(layer, x, rows, residual);
}

void Experts::add_shared(const PartSet& layer, const void* x, int64_t rows, float* residual) {
  const LoadedPart &up = layer[Part::kSharedUp], &down = layer[Part::kSharedDown];
  if (!network_.config.experts.shared_gate)
    return feed_forward_.run(up, down, x, rows, residual, /*accumulate=*/true);
  feed_forward_.run(up, down, x, rows, made_.as<float>(), /*accumulate=*/false);
  network_.linear(layer[Part::kSharedGate], x, rows, logits_.data(), DType::kF32);
  const std::span<const float> gate = logits(rows);
  weights_.resize(static_cast<size_t>(rows));
  for (size_t r = 0; r < weights_.size(); ++r) weights_[r] = 1.0f / (1.0f + std::exp(-gate[r]));
  groups_.places.resize(static_cast<size_t>(rows));  // every row passes the shared expert once
  std::iota(groups_.places.begin(), groups_.places.end(), 0);
  kernels::CombineRowsCall{.in = made_.as<float>(),
                           .places = groups_.places,
                           .weights = weights_,
                           .out = residual,
                           .rows = rows,
                           .per_row = 1,
                           .cols = network_.config.hidden}
      .run(network_.context);
}

}  // namespace reprise::model
