// One decoder class for all families. They differ only in the config and in the layout of the
// loaded weights.
#include "core/model/network/decoder.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <numeric>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/rows/gather_rows.h"
#include "core/model/network/block.h"
#include "core/model/network/convolution.h"
#include "core/model/network/embed.h"
#include "core/model/network/transformer.h"

namespace reprise::model {
namespace {

// Returns a different number at each call.
uint64_t next_serial() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

class Transformer final : public Decoder {
 public:
  Transformer(ModelConfig config, DType dtype, DecoderWeights weights, const Context& context)
      : network_{.config = std::move(config),
                 .dtype = dtype,
                 .weights = std::move(weights),
                 .context = context},
        embed_(network_),
        block_(network_) {
    if (network_.config.convolution.kernel > 0) convolution_.emplace(network_);
  }

  [[nodiscard]] const ModelConfig& config() const override { return network_.config; }
  [[nodiscard]] DType dtype() const override { return network_.dtype; }
  [[nodiscard]] int64_t weight_bytes() const override { return network_.weights.bytes(); }
  [[nodiscard]] WeightFormat weight_format() const override { return network_.weights.type.format; }
  [[nodiscard]] int64_t touched_experts() const override { return block_.touched_experts(); }
  [[nodiscard]] std::shared_ptr<DeviceRuntime> runtime() const override {
    return network_.context.runtime;
  }
  [[nodiscard]] const float* device_logits() const override { return logits_.as<float>(); }

  void forward(const StepInput& step, const StepOutput& output) override {
    check(step, output);
    if (step.ids.empty()) return;
    network_.buffers.prepare(network_.config, network_.dtype, step.plan.rows(), network_.context);
    block_.prepare(step.plan.rows());
    embed_.run(step);
    block_.begin(step);
    if (convolution_) convolution_->begin(step);
    // In the last layer, only keys and values are computed for rows that are not wanted.
    const std::span<const int32_t> wanted = wanted_rows(step);
    prepare_logits(step);
    const auto compute = [&] {
      run_blocks(step, wanted);
      if (!step.hidden_rows.empty()) show_hidden(wanted, step.hidden_rows, output.hidden);
      if (!step.logit_rows.empty()) run_head(wanted, step.logit_rows, logits_of(output));
    };
    if (comes_again(step)) {
      network_.context.runtime->run_repeatedly(key_of(step), compute);
    } else {
      compute();
    }
    if (network_.context.runtime != nullptr && !output.logits.empty())
      network_.copy_out(logits_.data(), output.logits.data(), output.logits.size_bytes());
  }

 private:
  void check(const StepInput& step, const StepOutput& output) const {
    const auto rows = static_cast<int64_t>(step.ids.size());
    REPRISE_CHECK(step.plan.rows() == rows, "{} ids, {} rows in the plan", rows, step.plan.rows());
    REPRISE_CHECK(step.token_types.empty() || step.token_types.size() == step.ids.size(),
                  "{} token types for {} ids", step.token_types.size(), step.ids.size());
    if (!network_.config.has_head && !step.logit_rows.empty())
      raise("{} has no head that makes logits: ask for hidden states", network_.config.name);
    REPRISE_CHECK(step.plan.kv_heads() == network_.config.kv_heads &&
                  step.plan.head_dim() == network_.config.head_dim);
    for (const std::span<const int32_t> wanted : {step.logit_rows, step.hidden_rows})
      for (size_t i = 0; i < wanted.size(); ++i)
        REPRISE_CHECK(wanted[i] >= 0 && wanted[i] < rows && (i == 0 || wanted[i] > wanted[i - 1]),
                      "wanted rows must ascend and exist: {} at {} of {}", wanted[i], i, rows);
    const auto elements = [](std::span<const int32_t> wanted, int64_t cols) {
      return wanted.size() * static_cast<size_t>(cols);
    };
    REPRISE_CHECK(!output.leaves_logits || (output.logits.empty() && runtime() != nullptr),
                  "logits cannot stay where nobody reads them");
    const size_t logits =
        output.leaves_logits ? 0 : elements(step.logit_rows, network_.config.vocab);
    REPRISE_CHECK(output.logits.size() == logits &&
                      output.hidden.size() == elements(step.hidden_rows, network_.config.hidden),
                  "room for {} logits and {} hidden values", output.logits.size(),
                  output.hidden.size());
  }

  // Returns the rows that the last layer computes: those whose logits or hidden states are wanted,
  // or all rows if the policy reads the residual stream.
  std::span<const int32_t> wanted_rows(const StepInput& step) {
    if (step.policy != nullptr && step.policy->reads_residual()) {
      wanted_.resize(step.ids.size());
      std::iota(wanted_.begin(), wanted_.end(), 0);
      return wanted_;
    }
    if (step.hidden_rows.empty()) return step.logit_rows;
    if (step.logit_rows.empty()) return step.hidden_rows;
    wanted_.clear();
    std::set_union(step.logit_rows.begin(), step.logit_rows.end(), step.hidden_rows.begin(),
                   step.hidden_rows.end(), std::back_inserter(wanted_));
    return wanted_;
  }

  // Returns the indices of `rows` in `kept`.
  std::span<const int32_t> places(std::span<const int32_t> kept, std::span<const int32_t> rows) {
    places_.clear();
    for (size_t i = 0; i < kept.size() && places_.size() < rows.size(); ++i)
      if (kept[i] == rows[places_.size()]) places_.push_back(static_cast<int32_t>(i));
    return places_;
  }

  void run_blocks(const StepInput& step, std::span<const int32_t> wanted) {
    const int64_t last = network_.config.layers - 1;
    for (int64_t layer = 0; layer < last; ++layer) {
      block_.run(layer, step, nullptr);
      if (layer == 0 && convolution_) convolution_->add(step.plan.rows());
    }
    block_.run(last, step, &wanted);
  }

  // True for a decode step that a device other than the CPU may record and replay: the step
  // computes the logits of all rows and needs nothing from the host meanwhile. (A model with
  // experts needs the host, which sorts rows by expert.)
  [[nodiscard]] bool comes_again(const StepInput& step) const {
    return runtime() != nullptr && step.logit_rows.size() == step.ids.size() &&
           step.hidden_rows.empty() && step.policy == nullptr &&
           network_.config.expert_layers() == 0 && !convolution_;
  }

  // Returns everything that the step's kernel launches depend on: the decoder, the number of rows,
  // the buffers, and how attention is divided. The serial number is needed because runtimes outlive
  // decoders, and the buffers of a later decoder may have the same addresses.
  [[nodiscard]] WorkKey key_of(const StepInput& step) const {
    WorkKey key = {serial_, step.ids.size()};
    append_address(key, logits_.data());
    network_.buffers.append_key(key);
    block_.append_key(key);
    return key;
  }

  // On a device other than the CPU, logits and hidden states are computed in the device's memory
  // and then copied to the host.
  void prepare_logits(const StepInput& step) {
    if (runtime() == nullptr) return;
    grow(logits_, std::ssize(step.logit_rows), network_.config.vocab, DType::kF32,
         network_.context);
  }
  float* logits_of(const StepOutput& output) {
    return runtime() != nullptr ? logits_.as<float>() : output.logits.data();
  }

  void show_hidden(std::span<const int32_t> kept, std::span<const int32_t> rows,
                   std::span<float> out) {
    const auto count = static_cast<int64_t>(rows.size());
    float* to = out.data();
    if (runtime() != nullptr) {
      grow(hidden_, count, network_.config.hidden, DType::kF32, network_.context);
      to = hidden_.as<float>();
    }
    kernels::GatherRowsCall{.in = network_.buffers.residual.data(),
                            .out = to,
                            .row_bytes = network_.config.hidden * int64_t{sizeof(float)},
                            .rows = places(kept, rows)}
        .run(network_.context);
    const LoadedPart& norm = network_.weights.model[Part::kFinalNorm];
    if (!norm.values.empty()) network_.norm(norm, to, count, to, DType::kF32);
    if (runtime() != nullptr) network_.copy_out(to, out.data(), out.size_bytes());
  }

  void run_head(std::span<const int32_t> kept, std::span<const int32_t> rows, float* out) {
    Activations& buffers = network_.buffers;
    if (rows.size() != kept.size())
      network_.move_rows(buffers.residual, network_.config.hidden, DType::kF32, places(kept, rows));
    const auto count = static_cast<int64_t>(rows.size());
    network_.norm(network_.weights.model[Part::kFinalNorm], buffers.residual.as<float>(), count,
                  buffers.normed.data(), network_.dtype);
    network_.linear(network_.weights.model[Part::kHead], buffers.normed.data(), count, out,
                    DType::kF32);
  }

  const uint64_t serial_ = next_serial();
  Network network_;
  Embed embed_;
  Block block_;
  std::optional<Convolution> convolution_;
  std::vector<int32_t> wanted_, places_;  // rows of the current step
  Buffer logits_, hidden_;                // empty on the CPU, else in the device's memory
};

}  // namespace

std::unique_ptr<Decoder> make_transformer(ModelConfig config, DType dtype, DecoderWeights weights,
                                          const Context& context) {
  return std::make_unique<Transformer>(std::move(config), dtype, std::move(weights), context);
}

}  // namespace reprise::model
