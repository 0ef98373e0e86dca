#include "core/model/network/block.h"

#include <cstddef>
#include <vector>

#include "core/base/error.h"

namespace reprise::model {

// Gives a policy the block's input. Runs the input norm when its result is first asked for.
class Block::Input final : public LayerInput {
 public:
  Input(Network& network, int64_t layer, const StepInput& step)
      : LayerInput(layer, step),
        network_(network),
        is_ready_(network.config.block == BlockStyle::kPostNorm) {}

  // Computes attention's input in buffers.normed, unless it is there already.
  void norm() {
    if (!is_ready_)
      network_.norm(network_.layer(layer())[Part::kNorm1], network_.buffers.residual.as<float>(),
                    step().plan.rows(), network_.buffers.normed.data(), network_.dtype);
    is_ready_ = true;
  }

  TensorView hidden() override {
    norm();
    return network_.on_cpu(rows_of(network_.buffers.normed, network_.dtype), hidden_);
  }
  TensorView residual() override {
    return network_.on_cpu(rows_of(network_.buffers.residual, DType::kF32), residual_);
  }

 private:
  TensorView rows_of(Buffer& buffer, DType dtype) {
    return {buffer.data(),
            dtype,
            {step().plan.rows(), network_.config.hidden},
            network_.context.device};
  }

  Network& network_;
  bool is_ready_;
  std::vector<std::byte> hidden_, residual_;  // copies of data on another device
};

void Block::run(int64_t layer, const StepInput& step, const std::span<const int32_t>* kept) {
  Input input(network_, layer, step);
  run_chosen(input, step.policy != nullptr ? step.policy->choose(input) : LayerChoice{}, kept);
  tell(step, layer, BlockPoint::kDone,
       kept != nullptr ? static_cast<int64_t>(kept->size()) : step.plan.rows());
}

void Block::run_chosen(Input& input, const LayerChoice& choice,
                       const std::span<const int32_t>* kept) {
  const StepInput& step = input.step();
  const int64_t layer = input.layer(), all = step.plan.rows();
  if (choice.action == LayerAction::kSkipBlock) {
    if (kept != nullptr)
      network_.move_rows(network_.buffers.residual, network_.config.hidden, DType::kF32, *kept);
    return;
  }
  const bool has_attention = choice.action != LayerAction::kSkipAttention;
  if (has_attention || network_.config.block == BlockStyle::kParallelOneNorm) input.norm();
  if (kept != nullptr && kept->empty() && !choice.show_map) {
    if (has_attention) attention_.fill_cache(layer, step, choice);
    return;
  }
  if (network_.config.block == BlockStyle::kParallelTwoNorms)
    network_.norm(network_.layer(layer)[Part::kNorm2], network_.buffers.residual.as<float>(), all,
                  network_.buffers.normed_mlp.data(), network_.dtype);
  if (has_attention) attention_.attend(layer, step, choice);
  if (kept != nullptr) keep_rows(*kept, has_attention);
  const int64_t rows = kept != nullptr ? static_cast<int64_t>(kept->size()) : all;
  if (has_attention) {
    attention_.project_out(layer, rows);
    tell(step, layer, BlockPoint::kAttended, rows);
  }
  norm_attended(layer, rows);
  add_mlp(layer, rows);
}

void Block::tell(const StepInput& step, int64_t layer, BlockPoint point, int64_t rows) {
  if (step.policy == nullptr) return;
  TensorView residual = {network_.buffers.residual.data(),
                         DType::kF32,
                         {rows, network_.config.hidden},
                         network_.context.device};
  std::vector<std::byte> copy;
  if (step.policy->reads_residual()) residual = network_.on_cpu(residual, copy);
  step.policy->passed(layer, point, residual);
}

void Block::keep_rows(std::span<const int32_t> kept, bool has_attention) {
  const ModelConfig& config = network_.config;
  Activations& buffers = network_.buffers;
  network_.move_rows(buffers.residual, config.hidden, DType::kF32, kept);
  if (has_attention) network_.move_rows(buffers.attended, config.q_dim(), network_.dtype, kept);
  if (config.block == BlockStyle::kParallelOneNorm)
    network_.move_rows(buffers.normed, config.hidden, network_.dtype, kept);
  if (config.block == BlockStyle::kParallelTwoNorms)
    network_.move_rows(buffers.normed_mlp, config.hidden, network_.dtype, kept);
}

void Block::norm_attended(int64_t layer, int64_t rows) {
  Activations& buffers = network_.buffers;
  if (network_.config.block == BlockStyle::kSequential)
    network_.norm(network_.layer(layer)[Part::kNorm2], buffers.residual.as<float>(), rows,
                  buffers.normed.data(), network_.dtype);
  if (network_.config.block == BlockStyle::kPostNorm)
    norm_residual(network_.layer(layer)[Part::kNorm1], rows);
}

void Block::add_mlp(int64_t layer, int64_t rows) {
  const Buffer& x = network_.config.block == BlockStyle::kParallelTwoNorms
                        ? network_.buffers.normed_mlp
                        : network_.buffers.normed;
  mlp_->add(network_.layer(layer), x.data(), rows, network_.buffers.residual.as<float>());
  if (network_.config.block == BlockStyle::kPostNorm)
    norm_residual(network_.layer(layer)[Part::kNorm2], rows);
}

void Block::norm_residual(const LoadedPart& norm, int64_t rows) {
  auto* residual = network_.buffers.residual.as<float>();
  network_.norm(norm, residual, rows, network_.buffers.normed.data(), network_.dtype);
  network_.norm(norm, residual, rows, residual, DType::kF32);
}

}  // namespace reprise::model
