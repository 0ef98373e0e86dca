#include "core/model/network/attention_step.h"

#include <algorithm>
#include <cstddef>

#include "core/base/error.h"
#include "core/kernels/clip/clip.h"
#include "core/kernels/kv_write/kv_write.h"
#include "core/kernels/rotary/rotary.h"
#include "core/kv/plan_rows.h"
#include "core/model/network/positions.h"

namespace reprise::model {
namespace {

// Calls a policy that splits attention at the beginning and end of a part of attention.
class PartOf {
 public:
  PartOf(bool splits, const StepInput& step, int64_t layer, AttentionPart part)
      : policy_(splits ? step.policy : nullptr), layer_(layer), part_(part) {
    if (policy_ != nullptr) policy_->beginning(layer_, part_);
  }
  ~PartOf() {
    if (policy_ != nullptr) policy_->computed(layer_, part_);
  }
  PartOf(const PartOf&) = delete;
  PartOf& operator=(const PartOf&) = delete;

 private:
  LayerPolicy* policy_;
  int64_t layer_;
  AttentionPart part_;
};

int64_t rows_of(std::span<const kernels::RowMap> maps) {
  int64_t rows = 0;
  for (const kernels::RowMap& map : maps) rows += map.map.rows;
  return rows;
}

}  // namespace

AttentionStep::AttentionStep(Network& network)
    : network_(network), step_(kernels::make_step_attention(network.context)) {
  const ModelConfig& config = network.config;
  params_.scale = static_cast<float>(config.attention_scale);
  params_.window = config.sliding_window;
  if (config.position == PositionScheme::kAlibi) {
    slopes_ = alibi_slopes(config.heads, config.alibi.bias_max);
    params_.alibi.rounded_to_bf16 = config.alibi.rounded_to_bf16;
    const float factor = static_cast<float>(config.alibi.times) *
                         (config.alibi.scaled_with_scores ? params_.scale : 1.0f);
    params_.alibi.factor = factor;
    // An ALiBi term that is rounded is scaled after rounding. Other terms are scaled here, through
    // their slopes.
    if (!config.alibi.rounded_to_bf16)
      for (float& slope : slopes_) slope *= factor;
    params_.alibi.slopes = slopes_;
  }
  if (config.relative.span > 0) relative_ = std::make_unique<Disentangled>(network);
}

void AttentionStep::begin(const StepInput& step) {
  kept_ = {};
  step_->begin(step.plan, network_.config.heads, params_);
  if (network_.config.position == PositionScheme::kRotary) prepare_angles(step.plan);
  if (relative_ != nullptr) relative_->begin(step);
}

void AttentionStep::attend(int64_t layer, const StepInput& step, const LayerChoice& choice) {
  switch (choice.action) {
    case LayerAction::kCompute:
      project_qkv(layer, step);
      if (choice.keep_map || choice.show_map) return attend_by_map(layer, step, choice);
      if (relative_ != nullptr)
        return relative_->attend(
            layer, projected(),
            {.data = network_.buffers.attended.data(), .dtype = network_.dtype});
      step_->attend(layer, queries(),
                    {.data = network_.buffers.attended.data(), .dtype = network_.dtype});
      return;
    case LayerAction::kReuseMap:
      if (rows_of(choice.maps) < step.plan.rows()) return attend_mixed(layer, step, choice.maps);
      project_values(layer, step);
      return apply(layer, step, choice.maps);
    case LayerAction::kShareMap:
      REPRISE_CHECK(kept_.map.rows > 0, "layer {} shares a map, and no earlier layer kept one",
                    layer);
      project_values(layer, step);
      return apply(layer, step, {&kept_, 1});
    case LayerAction::kSkipAttention:
    case LayerAction::kSkipBlock:
      break;
  }
  REPRISE_CHECK(false, "layer {} skips its attention", layer);
}

void AttentionStep::fill_cache(int64_t layer, const StepInput& step, const LayerChoice& choice) {
  if (choice.action == LayerAction::kCompute) {
    project_qkv(layer, step);
  } else {
    project_values(layer, step);
  }
}

void AttentionStep::attend_mixed(int64_t layer, const StepInput& step,
                                 std::span<const kernels::RowMap> maps) {
  require_device(network_.context.device, "a step of which some rows reuse maps");
  if (relative_ != nullptr)
    raise("{} has score terms of its own: all rows of a step reuse maps, or none",
          network_.config.name);
  int32_t row = 0;
  const auto compute_to = [&](int32_t end) {
    if (row < end) compute_rows(layer, row, kv::cut_to_rows(step.plan, row, end));
  };
  for (const kernels::RowMap& map : maps) {
    compute_to(map.first_row);
    row = map.first_row + static_cast<int32_t>(map.map.rows);
    reuse_rows(layer, map, kv::cut_to_rows(step.plan, map.first_row, row));
  }
  compute_to(step.plan.rows());
}

void AttentionStep::compute_rows(int64_t layer, int32_t first, const kv::AttentionPlan& plan) {
  const ModelConfig& config = network_.config;
  is_apart_ = false;
  float* qkv = network_.buffers.qkv.as<float>();
  network_.linear(network_.layer(layer)[Part::kQkv], normed_row(first), plan.rows(), qkv,
                  DType::kF32);
  clip(qkv, plan.rows(), qkv_dim());
  if (config.position == PositionScheme::kRotary)
    rotate(qkv, config.heads + config.kv_heads, qkv_dim(), plan.rows(), first);
  const float* keys = qkv + config.q_dim();
  kernels::write_kv(plan, layer, keys, keys + config.kv_dim(), qkv_dim(), network_.context);
  kernels::attention(plan, layer, queries(), params_, attended_from(first), workspace_,
                     network_.context);
}

void AttentionStep::reuse_rows(int64_t layer, const kernels::RowMap& map,
                               const kv::AttentionPlan& plan) {
  const ModelConfig& config = network_.config;
  float* values = network_.buffers.qkv.as<float>();
  network_.linear_rows(network_.layer(layer)[Part::kQkv], config.q_dim() + config.kv_dim(),
                       qkv_dim(), normed_row(map.first_row), plan.rows(), values);
  clip(values, plan.rows(), config.kv_dim());
  kernels::write_kv(plan, layer, /*keys=*/nullptr, values, config.kv_dim(), network_.context);
  const kernels::RowMap from_zero{.first_row = 0, .map = map.map};
  kernels::apply_map(plan, layer, {&from_zero, 1}, config.heads, attended_from(map.first_row),
                     network_.context);
}

const void* AttentionStep::normed_row(int64_t first) const {
  return network_.buffers.normed.as<const std::byte>() +
         static_cast<size_t>(first * network_.config.hidden) * size_of(network_.dtype);
}

kernels::OutputView AttentionStep::attended_from(int64_t first) {
  return {.data = network_.buffers.attended.as<std::byte>() +
                  static_cast<size_t>(first * network_.config.q_dim()) * size_of(network_.dtype),
          .dtype = network_.dtype};
}

void AttentionStep::project_out(int64_t layer, int64_t rows) {
  network_.linear(network_.layer(layer)[Part::kAttentionOut], network_.buffers.attended.data(),
                  rows, network_.buffers.residual.data(), DType::kF32, /*accumulate=*/true);
}

bool AttentionStep::splits(const StepInput& step) const {
  return step.policy != nullptr && step.policy->splits_attention() && relative_ == nullptr;
}

kernels::RotaryCall AttentionStep::rotary_of(float* data, int64_t heads, int64_t row_stride,
                                             int64_t rows, int64_t first) {
  const int64_t half = network_.config.rotary.dims / 2;
  return {.data = data,
          .rows = rows,
          .row_stride = row_stride,
          .heads = heads,
          .head_dim = network_.config.head_dim,
          .half = half,
          .cos = network_.buffers.cos.as<float>() + first * half,
          .sin = network_.buffers.sin.as<float>() + first * half};
}

void AttentionStep::rotate(float* data, int64_t heads, int64_t row_stride, int64_t rows,
                           int64_t first) {
  rotary_of(data, heads, row_stride, rows, first).run(network_.context);
}

void AttentionStep::project_apart(int64_t layer, const StepInput& step) {
  const ModelConfig& config = network_.config;
  const int64_t rows = step.plan.rows(), q = config.q_dim(), kv = config.kv_dim();
  auto* queries = network_.buffers.qkv.as<float>();
  float *keys = queries + rows * q, *values = keys + rows * kv;
  const auto project = [&](AttentionPart part, int64_t first, int64_t end, float* out) {
    const PartOf timed(true, step, layer, part);
    network_.linear_rows(network_.layer(layer)[Part::kQkv], first, end,
                         network_.buffers.normed.data(), rows, out);
    clip(out, rows, end - first);
  };
  project(AttentionPart::kQueries, 0, q, queries);
  project(AttentionPart::kKeys, q, q + kv, keys);
  project(AttentionPart::kValues, q + kv, q + 2 * kv, values);
  if (config.position == PositionScheme::kRotary) {
    const PartOf timed(true, step, layer, AttentionPart::kRotary);
    rotate(queries, config.heads, q, rows);
    rotate(keys, config.kv_heads, kv, rows);
  }
  step_->write_kv(layer, keys, values, kv);
}

void AttentionStep::project_qkv(int64_t layer, const StepInput& step) {
  is_apart_ = splits(step);
  if (is_apart_) return project_apart(layer, step);
  const ModelConfig& config = network_.config;
  const int64_t rows = step.plan.rows();
  float* qkv = network_.buffers.qkv.as<float>();
  network_.linear(network_.layer(layer)[Part::kQkv], network_.buffers.normed.data(), rows, qkv,
                  DType::kF32);
  clip(qkv, rows, qkv_dim());
  const float *keys = qkv + config.q_dim(), *values = keys + config.kv_dim();
  if (config.position != PositionScheme::kRotary)
    return step_->write_kv(layer, keys, values, qkv_dim());
  step_->rotate_and_write_kv(rotary_of(qkv, config.heads + config.kv_heads, qkv_dim(), rows), layer,
                             keys, values, qkv_dim());
}

void AttentionStep::project_values(int64_t layer, const StepInput& step) {
  const ModelConfig& config = network_.config;
  const int64_t rows = step.plan.rows();
  float* values = network_.buffers.qkv.as<float>();
  {
    const PartOf timed(splits(step), step, layer, AttentionPart::kValues);
    network_.linear_rows(network_.layer(layer)[Part::kQkv], config.q_dim() + config.kv_dim(),
                         qkv_dim(), network_.buffers.normed.data(), rows, values);
    clip(values, rows, config.kv_dim());
  }
  step_->write_kv(layer, /*keys=*/nullptr, values, config.kv_dim());
}

void AttentionStep::attend_by_map(int64_t layer, const StepInput& step, const LayerChoice& choice) {
  const ModelConfig& config = network_.config;
  const int64_t rows = step.plan.rows(), keys = kernels::most_keys(step.plan);
  const float* biases = nullptr;
  if (relative_ != nullptr) {
    require_device(network_.context.device, "a score's own term");
    grow(biases_, config.heads * rows, keys, DType::kF32, network_.context);
    relative_->fill(layer, step, projected(),
                    {biases_.as<float>(), static_cast<size_t>(config.heads * rows * keys)});
    biases = biases_.as<float>();
  }
  grow(map_, config.heads * rows, keys, DType::kF32, network_.context);
  kept_ = {};  // the memory of the kept map is used for this layer's map
  {
    const PartOf timed(splits(step), step, layer, AttentionPart::kMap);
    kernels::attention_map(step.plan, layer, queries(), params_, biases, map_.as<float>(),
                           network_.context);
  }
  kernels::RowMap map{
      .map = kernels::contiguous_map(map_.data(), DType::kF32, config.heads, rows, keys)};
  map.map.device = network_.context.device;
  if (choice.keep_map) kept_ = map;
  if (choice.show_map) show(layer, step, map.map);
  apply(layer, step, {&map, 1});
}

void AttentionStep::show(int64_t layer, const StepInput& step, kernels::MapView map) {
  if (map.device != Device::kCpu) {
    shown_.resize(static_cast<size_t>(map.heads * map.head_stride));
    network_.copy_out(map.data, shown_.data(), shown_.size() * sizeof(float));
    map.data = shown_.data();
    map.device = Device::kCpu;
  }
  step.policy->observe_map(layer, map);
}

void AttentionStep::apply(int64_t layer, const StepInput& step,
                          std::span<const kernels::RowMap> maps) {
  kernels::apply_map(step.plan, layer, maps, network_.config.heads,
                     {.data = network_.buffers.attended.data(), .dtype = network_.dtype},
                     network_.context);
}

// If the frequencies depend on the sequence's length, computes the angles of each run of rows with
// equal length. There are few such runs, because rows of one sequence are neighbours.
void AttentionStep::prepare_angles(const kv::AttentionPlan& plan) {
  const RotaryConfig& rotary = network_.config.rotary;
  const int64_t half = rotary.dims / 2;
  const auto rows = static_cast<size_t>(plan.rows());
  for (size_t first = 0; first < rows;) {
    size_t end = rows;
    if (rotary.depends_on_length())
      end = static_cast<size_t>(
          std::find_if(plan.row_lengths.begin() + static_cast<int64_t>(first),
                       plan.row_lengths.end(),
                       [&](int32_t length) { return length != plan.row_lengths[first]; }) -
          plan.row_lengths.begin());
    const std::vector<float>& frequencies = frequencies_for(plan.row_lengths[first]);
    const int64_t at = static_cast<int64_t>(first) * half;
    kernels::rotary_angles(std::span(plan.row_positions).subspan(first, end - first), frequencies,
                           static_cast<float>(rotary.attention_factor),
                           network_.buffers.cos.as<float>() + at,
                           network_.buffers.sin.as<float>() + at, network_.context);
    first = end;
  }
}

const std::vector<float>& AttentionStep::frequencies_for(int64_t length) {
  const RotaryConfig& rotary = network_.config.rotary;
  if (frequencies_.empty() || (rotary.depends_on_length() && length != frequencies_length_)) {
    frequencies_ = rotary_frequencies(rotary, length);
    frequencies_length_ = length;
  }
  return frequencies_;
}

void AttentionStep::clip(float* data, int64_t rows, int64_t cols) const {
  if (network_.config.clip_qkv <= 0.0) return;
  kernels::ClipCall{.data = data,
                    .rows = rows,
                    .cols = cols,
                    .limit = static_cast<float>(network_.config.clip_qkv)}
      .run(network_.context);
}

kernels::QueryView AttentionStep::queries() const {
  return {.data = network_.buffers.qkv.as<float>(),
          .row_stride = is_apart_ ? network_.config.q_dim() : qkv_dim(),
          .heads = network_.config.heads};
}

Disentangled::Qkv AttentionStep::projected() const {
  const ModelConfig& config = network_.config;
  const float* qkv = network_.buffers.qkv.as<float>();
  return {.q = qkv,
          .k = qkv + config.q_dim(),
          .v = qkv + config.q_dim() + config.kv_dim(),
          .row_stride = qkv_dim()};
}

int64_t AttentionStep::qkv_dim() const {
  return network_.config.q_dim() + 2 * network_.config.kv_dim();
}

}  // namespace reprise::model
