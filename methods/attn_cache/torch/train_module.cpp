// Trains a projector with libtorch. It is the only file of the method that includes libtorch's
// headers, and it includes no header that uses fmt, because libtorch brings its own version.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "methods/attn_cache/torch/training_problem.h"

namespace reprise::attn_cache {
namespace {

constexpr double kBatchNormEpsilon = 1e-5, kBatchNormMomentum = 0.1;  // libtorch's own defaults

bool is_trained(const std::string& name) { return name.find(".running_") == std::string::npos; }

class Network {
 public:
  explicit Network(const TrainingProblem& problem) : problem_(problem) {
    for (int64_t i = 0; i < problem.tensor_count; ++i) {
      const TrainedTensor& tensor = problem.tensors[i];
      const at::IntArrayRef shape(tensor.shape, static_cast<size_t>(tensor.rank));
      at::Tensor value = at::from_blob(tensor.values, shape, at::TensorOptions(at::kFloat)).clone();
      if (is_trained(tensor.name)) {
        value.requires_grad_(true);
        speeds_[tensor.name] = at::zeros_like(value);
      }
      tensors_[tensor.name] = value;
    }
  }

  // Computes features [n, features] from x [n, inputs].
  at::Tensor forward(at::Tensor x) {
    if (problem_.is_pooled_linear) x = norm(x.unsqueeze(1), "norm0").squeeze(1);
    x = at::linear(x, get("linear1.weight"), get("linear1.bias"));
    x = problem_.is_pooled_linear ? norm(x, "norm1") : at::relu(x);
    return at::linear(x, get("linear2.weight"), get("linear2.bias"));
  }

  // One step of gradient descent with momentum, as in torch.optim.SGD.
  void step() {
    for (auto& [name, speed] : speeds_) {
      at::Tensor& tensor = tensors_.at(name);
      const at::Tensor gradient = tensor.grad();
      if (!gradient.defined()) continue;
      speed.mul_(problem_.momentum).add_(gradient);
      tensor = (tensor.detach() - problem_.learning_rate * speed).requires_grad_(true);
    }
  }

  void write_back() const {
    for (int64_t i = 0; i < problem_.tensor_count; ++i) {
      const TrainedTensor& tensor = problem_.tensors[i];
      const at::Tensor value = tensors_.at(tensor.name).detach().contiguous();
      std::copy_n(value.data_ptr<float>(), value.numel(), tensor.values);
    }
  }

 private:
  at::Tensor& get(const std::string& name) { return tensors_.at(name); }

  // Normalizes with the statistics of the batch, and updates the running statistics.
  at::Tensor norm(const at::Tensor& x, const std::string& name) {
    return at::batch_norm(x, get(name + ".weight"), get(name + ".bias"),
                          get(name + ".running_mean"), get(name + ".running_var"),
                          /*training=*/true, kBatchNormMomentum, kBatchNormEpsilon,
                          /*cudnn_enabled=*/false);
  }

  const TrainingProblem& problem_;
  std::map<std::string, at::Tensor> tensors_, speeds_;
};

// Returns the order of the samples in one epoch, a random permutation.
std::vector<int64_t> order_of(const TrainingProblem& problem, int64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(problem.samples));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random_bits(problem.seed, static_cast<uint64_t>(epoch), i) % i]);
  return order;
}

// The loss of all pairs of a batch.   g = ||f(x_a) - f(x_b)||_2            [equation 1]
//                                     smooth L1 of g and the labels         [equation 3]
struct BatchLoss {
  at::Tensor loss;
  double flat = 0.0;  // loss of predicting the mean label for each pair
};

BatchLoss loss_of(Network& network, const TrainingProblem& problem, const int64_t* samples,
                  int64_t n) {
  at::Tensor x = at::empty({n, problem.inputs}, at::TensorOptions(at::kFloat));
  for (int64_t i = 0; i < n; ++i)
    std::copy_n(problem.x + samples[i] * problem.inputs, problem.inputs,
                x.data_ptr<float>() + i * problem.inputs);
  if (problem.scale != nullptr) {
    const at::TensorOptions floats(at::kFloat);
    const auto of_inputs = [&](const float* values) {
      return at::from_blob(const_cast<float*>(values), {problem.inputs}, floats);
    };
    x = (x - of_inputs(problem.mean)) * of_inputs(problem.scale);
  }
  at::Tensor labels = at::empty({n, n}, at::TensorOptions(at::kFloat));
  problem.label(problem.label_state, samples, n, labels.data_ptr<float>());
  const at::Tensor pairs = at::triu_indices(n, n, 1);
  const at::Tensor first = pairs.select(0, 0), second = pairs.select(0, 1);
  const at::Tensor features = network.forward(x);
  const at::Tensor difference = features.index_select(0, first) - features.index_select(0, second);
  // 1e-12 is added because the derivative of the square root is infinite at 0.
  const at::Tensor distance = (difference * difference).sum(1).add(1e-12).sqrt();
  const at::Tensor wanted = labels.flatten().index_select(0, first * n + second);
  const at::Tensor flat = wanted.mean().expand_as(wanted);
  return {at::smooth_l1_loss(distance, wanted), at::smooth_l1_loss(flat, wanted).item<double>()};
}

void train(const TrainingProblem& problem, double* losses, double* flat_losses) {
  // A second libtorch thread would spin between small products and take a core from the threads
  // that compute the labels.
  at::set_num_threads(1);
  Network network(problem);
  for (int64_t epoch = 0; epoch < problem.epochs; ++epoch) {
    const std::vector<int64_t> order = order_of(problem, epoch);
    double sum = 0.0, flat_sum = 0.0;
    int64_t batches = 0;
    for (int64_t first = 0; first + 1 < problem.samples; first += problem.batch) {
      const int64_t n = std::min(problem.batch, problem.samples - first);
      if (n < 2) break;  // one sample has no pair
      const BatchLoss batch = loss_of(network, problem, order.data() + first, n);
      batch.loss.backward();
      network.step();
      sum += batch.loss.item<double>();
      flat_sum += batch.flat;
      ++batches;
    }
    losses[epoch] = sum / static_cast<double>(batches);
    flat_losses[epoch] = flat_sum / static_cast<double>(batches);
    if (!std::isfinite(losses[epoch]))
      throw std::runtime_error("the loss of epoch " + std::to_string(epoch + 1) +
                               " is no number: lower the learning_rate");
  }
  network.write_back();
}

}  // namespace
}  // namespace reprise::attn_cache

extern "C" __attribute__((visibility("default"))) void reprise_train_projector(
    const reprise::attn_cache::TrainingProblem& problem, double* losses, double* flat_losses) {
  reprise::attn_cache::train(problem, losses, flat_losses);
}
