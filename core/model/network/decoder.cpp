// One decoder for all families: what differs between them is in the config and in how weights are
// laid out on load.
#include "core/model/network/decoder.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/base/error.h"
#include "core/kernels/activation.h"
#include "core/kernels/attention.h"
#include "core/kernels/kv_write.h"
#include "core/kernels/linear.h"
#include "core/kernels/norm.h"
#include "core/kernels/rotary.h"
#include "core/model/network/decoder_weights.h"
#include "core/model/network/positions.h"

namespace reprise::model {
namespace {

const float* or_null(const std::vector<float>& values) {
  return values.empty() ? nullptr : values.data();
}

kernels::ActivationKind kind_of(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return kernels::ActivationKind::kSilu;
    case Activation::kGelu:
      return kernels::ActivationKind::kGelu;
    case Activation::kGeluTanh:
      return kernels::ActivationKind::kGeluTanh;
  }
  return kernels::ActivationKind::kSilu;
}

// Activations of a step, sized for the most rows seen so far.
struct Buffers {
  int64_t rows = 0;
  AlignedBuffer residual;    // [rows, hidden] f32
  AlignedBuffer normed;      // [rows, hidden]
  AlignedBuffer normed_mlp;  // [rows, hidden], parallel blocks with two norms
  AlignedBuffer qkv;         // [rows, q + 2 kv] f32
  AlignedBuffer attended;    // [rows, q]
  AlignedBuffer up;          // [rows, intermediate, twice if gated]
  AlignedBuffer activated;   // [rows, intermediate]
  AlignedBuffer cos, sin;    // [rows, rotated pairs] f32

  void prepare(const ModelConfig& config, DType dtype, int64_t wanted_rows) {
    if (wanted_rows <= rows) return;
    rows = 0;  // until all are made: an allocation may throw
    const auto make = [&](AlignedBuffer& buffer, int64_t cols, DType type) {
      buffer = AlignedBuffer(static_cast<size_t>(wanted_rows * cols) * size_of(type));
    };
    make(residual, config.hidden, DType::kF32);
    make(normed, config.hidden, dtype);
    if (config.block == BlockStyle::kParallelTwoNorms) make(normed_mlp, config.hidden, dtype);
    make(qkv, config.q_dim() + 2 * config.kv_dim(), DType::kF32);
    make(attended, config.q_dim(), dtype);
    make(up, config.intermediate * (config.gated_mlp ? 2 : 1), dtype);
    make(activated, config.intermediate, dtype);
    if (config.position == PositionScheme::kRotary) {
      make(cos, config.rotary.dims / 2, DType::kF32);
      make(sin, config.rotary.dims / 2, DType::kF32);
    }
    rows = wanted_rows;
  }
};

class TransformerDecoder final : public Decoder {
 public:
  TransformerDecoder(ModelConfig config, DType dtype, DecoderWeights weights,
                     const Context& context)
      : config_(std::move(config)), dtype_(dtype), weights_(std::move(weights)), context_(context) {
    attention_.scale = static_cast<float>(config_.attention_scale);
    attention_.window = config_.sliding_window;
    if (config_.position == PositionScheme::kAlibi) {
      slopes_ = alibi_slopes(config_.heads, config_.alibi.bias_max);
      attention_.alibi.rounded_to_bf16 = config_.alibi.rounded_to_bf16;
      const float factor = static_cast<float>(config_.alibi.times) *
                           (config_.alibi.scaled_with_scores ? attention_.scale : 1.0f);
      attention_.alibi.factor = factor;
      // A rounded term is scaled after the rounding, a plain one through its slope.
      if (!config_.alibi.rounded_to_bf16)
        for (float& slope : slopes_) slope *= factor;
      attention_.alibi.slopes = slopes_;
    }
  }

  [[nodiscard]] const ModelConfig& config() const override { return config_; }
  [[nodiscard]] DType dtype() const override { return dtype_; }
  [[nodiscard]] int64_t weight_bytes() const override { return weights_.bytes(); }

  void forward(const StepInput& input, const StepOutput& output) override {
    check(input, output);
    const auto rows = static_cast<int64_t>(input.ids.size());
    if (rows == 0) return;
    buffers_.prepare(config_, dtype_, rows);
    embed(input.ids);
    if (config_.position == PositionScheme::kRotary) prepare_angles(input.plan);
    for (int64_t layer = 0; layer + 1 < config_.layers; ++layer) {
      begin_layer(layer, rows, input.plan);
      end_layer(layer, rows);
    }
    // Of the last layer, other rows only need their keys and values: nothing reads what follows.
    const int64_t last = config_.layers - 1;
    const std::span<const int32_t> wanted = wanted_rows(input);
    if (wanted.empty()) {
      project_qkv(last, rows, input.plan);
      return;
    }
    begin_layer(last, rows, input.plan);
    keep_rows(wanted);
    end_layer(last, static_cast<int64_t>(wanted.size()));
    if (!input.hidden_rows.empty()) show_hidden(wanted, input.hidden_rows, output.hidden);
    if (!input.logit_rows.empty()) run_head(wanted, input.logit_rows, output.logits);
  }

 private:
  void check(const StepInput& input, const StepOutput& output) const {
    const auto rows = static_cast<int64_t>(input.ids.size());
    REPRISE_CHECK(input.plan.rows() == rows, "{} ids, {} rows in the plan", rows,
                  input.plan.rows());
    REPRISE_CHECK(input.plan.cache.kv_heads == config_.kv_heads &&
                  input.plan.cache.head_dim == config_.head_dim);
    for (const std::span<const int32_t> wanted : {input.logit_rows, input.hidden_rows})
      for (size_t i = 0; i < wanted.size(); ++i)
        REPRISE_CHECK(wanted[i] >= 0 && wanted[i] < rows && (i == 0 || wanted[i] > wanted[i - 1]),
                      "wanted rows must ascend and exist: {} at {} of {}", wanted[i], i, rows);
    const auto elements = [](std::span<const int32_t> wanted, int64_t cols) {
      return wanted.size() * static_cast<size_t>(cols);
    };
    REPRISE_CHECK(output.logits.size() == elements(input.logit_rows, config_.vocab) &&
                      output.hidden.size() == elements(input.hidden_rows, config_.hidden),
                  "room for {} logits and {} hidden values", output.logits.size(),
                  output.hidden.size());
  }

  // Rows that the end of the last layer computes: those wanted as logits or as hidden states.
  std::span<const int32_t> wanted_rows(const StepInput& input) {
    if (input.hidden_rows.empty()) return input.logit_rows;
    if (input.logit_rows.empty()) return input.hidden_rows;
    wanted_.clear();
    std::set_union(input.logit_rows.begin(), input.logit_rows.end(), input.hidden_rows.begin(),
                   input.hidden_rows.end(), std::back_inserter(wanted_));
    return wanted_;
  }

  void embed(std::span<const int32_t> ids) {
    auto* residual = buffers_.residual.as<float>();
    for (size_t row = 0; row < ids.size(); ++row) {
      const int64_t id = ids[row];
      if (id < 0 || id >= config_.vocab)
        raise("token id {} is outside {}'s vocabulary of {}", id, config_.name, config_.vocab);
      float* out = residual + static_cast<int64_t>(row) * config_.hidden;
      if (weights_.model[Part::kEmbedding].table.empty()) {
        weights_.model[Part::kHead].matrix.read_block(id, id + 1, 0, config_.hidden, out);
      } else {
        const char* in = static_cast<const char*>(weights_.model[Part::kEmbedding].table.data()) +
                         static_cast<size_t>(id * config_.hidden) * size_of(dtype_);
        convert(in, dtype_, out, DType::kF32, static_cast<size_t>(config_.hidden));
      }
    }
  }

  // Rows of one sequence stand together, so runs of equal length are few.
  void prepare_angles(const kv::AttentionPlan& plan) {
    const int64_t half = config_.rotary.dims / 2;
    const auto rows = static_cast<size_t>(plan.rows());
    for (size_t first = 0; first < rows;) {
      size_t end = rows;
      if (config_.rotary.scaling == RopeScaling::kDynamic)
        end = static_cast<size_t>(
            std::find_if(plan.row_lengths.begin() + static_cast<int64_t>(first),
                         plan.row_lengths.end(),
                         [&](int32_t length) { return length != plan.row_lengths[first]; }) -
            plan.row_lengths.begin());
      const std::vector<float>& frequencies = frequencies_for(plan.row_lengths[first]);
      kernels::rotary_angles(std::span(plan.row_positions).subspan(first, end - first), frequencies,
                             buffers_.cos.as<float>() + static_cast<int64_t>(first) * half,
                             buffers_.sin.as<float>() + static_cast<int64_t>(first) * half,
                             context_);
      first = end;
    }
  }

  const std::vector<float>& frequencies_for(int64_t length) {
    const bool depends_on_length = config_.rotary.scaling == RopeScaling::kDynamic;
    if (frequencies_.empty() || (depends_on_length && length != frequencies_length_)) {
      frequencies_ = rotary_frequencies(config_.rotary, length);
      frequencies_length_ = length;
    }
    return frequencies_;
  }

  void norm(const float* x, int64_t rows, const LoadedPart& part, void* out, DType out_dtype) {
    kernels::NormCall{.is_rms = config_.norm == Norm::kRms,
                      .epsilon = static_cast<float>(config_.norm_epsilon),
                      .weight = part.values.data(),
                      .bias = or_null(part.bias),
                      .x = x,
                      .out = out,
                      .out_dtype = out_dtype,
                      .rows = rows,
                      .cols = config_.hidden}
        .run(context_);
  }

  void linear(const LoadedPart& part, const void* x, int64_t rows, void* out, DType out_dtype,
              bool accumulate = false) {
    kernels::LinearCall{.x = x,
                        .m = rows,
                        .bias = or_null(part.bias),
                        .out = out,
                        .out_dtype = out_dtype,
                        .accumulate = accumulate}
        .run(part.matrix, linear_workspace_, context_);
  }

  const PartSet& layer_at(int64_t index) const {
    return weights_.layers[static_cast<size_t>(index)];
  }

  // The residual's part in this step's queries, keys and values; the latter go to the cache.
  void project_qkv(int64_t index, int64_t rows, const kv::AttentionPlan& plan) {
    const PartSet& layer = layer_at(index);
    const int64_t stride = config_.q_dim() + 2 * config_.kv_dim();
    float* qkv = buffers_.qkv.as<float>();
    norm(buffers_.residual.as<float>(), rows, layer[Part::kNorm1], buffers_.normed.data(), dtype_);
    linear(layer[Part::kQkv], buffers_.normed.data(), rows, qkv, DType::kF32);
    if (config_.clip_qkv > 0.0) {
      const auto clip = static_cast<float>(config_.clip_qkv);
      for (int64_t i = 0; i < rows * stride; ++i) qkv[i] = std::clamp(qkv[i], -clip, clip);
    }
    if (config_.position == PositionScheme::kRotary)
      kernels::RotaryCall{.data = qkv,
                          .rows = rows,
                          .row_stride = stride,
                          .heads = config_.heads + config_.kv_heads,
                          .head_dim = config_.head_dim,
                          .half = config_.rotary.dims / 2,
                          .cos = buffers_.cos.as<float>(),
                          .sin = buffers_.sin.as<float>()}
          .run(context_);
    kernels::write_kv(plan, index, qkv + config_.q_dim(), qkv + config_.q_dim() + config_.kv_dim(),
                      stride, context_);
  }

  // Up to the attended values; `normed` (or `normed_mlp`) holds the MLP's input of parallel blocks.
  void begin_layer(int64_t index, int64_t rows, const kv::AttentionPlan& plan) {
    const PartSet& layer = layer_at(index);
    project_qkv(index, rows, plan);
    if (config_.block == BlockStyle::kParallelTwoNorms)
      norm(buffers_.residual.as<float>(), rows, layer[Part::kNorm2], buffers_.normed_mlp.data(),
           dtype_);
    const int64_t stride = config_.q_dim() + 2 * config_.kv_dim();
    kernels::attention(
        plan, index,
        {.data = buffers_.qkv.as<float>(), .row_stride = stride, .heads = config_.heads},
        attention_, {.data = buffers_.attended.data(), .dtype = dtype_}, attention_workspace_,
        context_);
  }

  // Output projection and MLP, added to the residual.
  void end_layer(int64_t index, int64_t rows) {
    const PartSet& layer = layer_at(index);
    float* residual = buffers_.residual.as<float>();
    linear(layer[Part::kAttentionOut], buffers_.attended.data(), rows, residual, DType::kF32,
           /*accumulate=*/true);
    if (config_.block == BlockStyle::kSequential)
      norm(residual, rows, layer[Part::kNorm2], buffers_.normed.data(), dtype_);
    const AlignedBuffer& mlp_input =
        config_.block == BlockStyle::kParallelTwoNorms ? buffers_.normed_mlp : buffers_.normed;
    linear(layer[Part::kUp], mlp_input.data(), rows, buffers_.up.data(), dtype_);
    kernels::ActivationCall{.kind = kind_of(config_.activation),
                            .is_gated = config_.gated_mlp,
                            .x = buffers_.up.data(),
                            .out = buffers_.activated.data(),
                            .dtype = dtype_,
                            .rows = rows,
                            .cols = config_.intermediate}
        .run(context_);
    linear(layer[Part::kDown], buffers_.activated.data(), rows, residual, DType::kF32,
           /*accumulate=*/true);
  }

  // Moves the wanted rows, which ascend, to the front of what the end of a layer reads.
  void keep_rows(std::span<const int32_t> wanted) {
    move_rows(buffers_.residual, config_.hidden, DType::kF32, wanted);
    move_rows(buffers_.attended, config_.q_dim(), dtype_, wanted);
    if (config_.block == BlockStyle::kParallelOneNorm)
      move_rows(buffers_.normed, config_.hidden, dtype_, wanted);
    if (config_.block == BlockStyle::kParallelTwoNorms)
      move_rows(buffers_.normed_mlp, config_.hidden, dtype_, wanted);
  }

  static void move_rows(AlignedBuffer& buffer, int64_t cols, DType dtype,
                        std::span<const int32_t> rows) {
    const size_t row_bytes = static_cast<size_t>(cols) * size_of(dtype);
    for (size_t i = 0; i < rows.size(); ++i)
      if (const auto row = static_cast<size_t>(rows[i]); row != i)
        std::memcpy(buffer.as<char>() + i * row_bytes, buffer.as<char>() + row * row_bytes,
                    row_bytes);
  }

  // Indices of `rows` among those kept.
  std::span<const int32_t> places(std::span<const int32_t> kept, std::span<const int32_t> rows) {
    places_.clear();
    for (size_t i = 0; i < kept.size() && places_.size() < rows.size(); ++i)
      if (kept[i] == rows[places_.size()]) places_.push_back(static_cast<int32_t>(i));
    return places_;
  }

  void show_hidden(std::span<const int32_t> kept, std::span<const int32_t> rows,
                   std::span<float> out) {
    const auto* residual = buffers_.residual.as<float>();
    size_t next = 0;
    for (int32_t place : places(kept, rows))
      std::copy_n(residual + place * config_.hidden, config_.hidden,
                  out.data() + static_cast<int64_t>(next++) * config_.hidden);
    norm(out.data(), static_cast<int64_t>(rows.size()), weights_.model[Part::kFinalNorm],
         out.data(), DType::kF32);
  }

  void run_head(std::span<const int32_t> kept, std::span<const int32_t> rows,
                std::span<float> out) {
    if (rows.size() != kept.size())
      move_rows(buffers_.residual, config_.hidden, DType::kF32, places(kept, rows));
    const auto count = static_cast<int64_t>(rows.size());
    norm(buffers_.residual.as<float>(), count, weights_.model[Part::kFinalNorm],
         buffers_.normed.data(), dtype_);
    linear(weights_.model[Part::kHead], buffers_.normed.data(), count, out.data(), DType::kF32);
  }

  ModelConfig config_;
  DType dtype_;
  DecoderWeights weights_;
  Context context_;
  std::vector<float> slopes_;
  kernels::AttentionParams attention_;
  std::vector<float> frequencies_;
  int64_t frequencies_length_ = -1;
  Buffers buffers_;
  std::vector<int32_t> wanted_, places_;  // of the step under way
  kernels::LinearWorkspace linear_workspace_;
  kernels::AttentionWorkspace attention_workspace_;
};

}  // namespace

std::unique_ptr<Decoder> load_decoder(const std::string& dir_or_shape, const LoadOptions& options,
                                      const Context& context) {
  if (options.dtype == DType::kF16)
    raise("dtype f16 is not supported for weights and activations: use f32 or bf16");
  ModelConfig config = load_config(dir_or_shape);
  std::unique_ptr<WeightSource> source;
  if (options.random_weights) {
    source = random_weights(config, options.seed);
  } else if (std::filesystem::is_directory(dir_or_shape)) {
    adapt_to_checkpoint(dir_or_shape, config);
    source = open_checkpoint(dir_or_shape, config);
  } else {
    raise(
        "{} is a shape without weights: ask for random weights (--random-weights), or give a "
        "checkpoint folder",
        dir_or_shape);
  }
  DecoderWeights weights = load_weights(config, *source, options.dtype, context);
  return std::make_unique<TransformerDecoder>(std::move(config), options.dtype, std::move(weights),
                                              context);
}

}  // namespace reprise::model
