#include "methods/attn_cache/train.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "core/base/error.h"
#include "core/base/torch_module.h"
#include "methods/attn_cache/pair_label.h"
#include "methods/attn_cache/projector_file.h"
#include "methods/attn_cache/torch/training_problem.h"

namespace reprise::attn_cache {
namespace {

const TorchModule& train_module() {
  static const TorchModule loaded =
      load_torch_module(REPRISE_TORCH_VERSION, "libreprise_attn_cache_train.so", kTrainProjector,
                        "training AttnCache's projector needs");
  return loaded;
}

// The data from which write() computes the labels of a batch for the training module.
struct Labels {
  const SampleSet& samples;
  const MapStore& maps;
  LabelRule rule;
  Context context;
  const std::function<void()>& between;
  std::vector<IndexEntry> entries = {};  // entries of the batch

  static void write(void* state, const int64_t* batch, int64_t n, float* labels) {
    auto& self = *static_cast<Labels*>(state);
    if (self.between) self.between();
    self.entries.clear();
    for (int64_t i = 0; i < n; ++i)
      self.entries.push_back(self.samples.entries[static_cast<size_t>(batch[i])]);
    label_pairs(self.maps, self.entries, self.rule, {labels, static_cast<size_t>(n * n)},
                self.context);
  }
};

std::string settings_of(const AttnCacheOptions& options, uint64_t seed, int64_t samples) {
  return json_text(Fields{{"map_norm", options.map_norm},
                          {"map_weight", options.map_weight},
                          {"length_weight", options.length_weight},
                          {"alignment", options.alignment},
                          {"padded_tokens", options.padded_tokens},
                          {"batch", options.batch},
                          {"epochs", options.epochs},
                          {"learning_rate", options.learning_rate},
                          {"momentum", options.momentum},
                          {"seed", seed},
                          {"samples", samples},
                          {"libtorch", REPRISE_TORCH_VERSION}});
}

// The projector's weights by name, for the training module to read and write.
std::vector<TrainedTensor> tensors_to_train(const std::vector<MutableProjectorTensor>& named) {
  std::vector<TrainedTensor> tensors;
  for (const MutableProjectorTensor& tensor : named)
    tensors.push_back({.name = tensor.name.c_str(),
                       .shape = tensor.shape.data(),
                       .rank = std::ssize(tensor.shape),
                       .values = tensor.values->data()});
  return tensors;
}

struct Losses {
  std::vector<double> network, flat;  // [epochs]
};

// Runs the training module. Of the message of libtorch's exceptions only the first line is kept,
// since a stack trace follows it.
Losses run(const TrainingProblem& problem) {
  const auto epochs = static_cast<size_t>(problem.epochs);
  Losses losses{std::vector<double>(epochs), std::vector<double>(epochs)};
  try {
    reinterpret_cast<TrainProjector>(train_module().symbol)(problem, losses.network.data(),
                                                            losses.flat.data());
  } catch (const Error&) {
    throw;  // thrown while labels were computed, e.g. for a damaged map
  } catch (const std::exception& error) {
    const std::string text = error.what();
    raise("training a projector by libtorch {} failed: {}", REPRISE_TORCH_VERSION,
          text.substr(0, text.find('\n')));
  }
  return losses;
}

// Standardization of the network's input: (x - mean) * scale.
struct Standard {
  std::vector<float> mean, scale;  // [inputs]
};

double mean_label(Labels& labels, int64_t count) {
  constexpr int64_t kMost = 64;
  const int64_t n = std::min(count, kMost);
  std::vector<int64_t> some;
  for (int64_t i = 0; i < n; ++i) some.push_back(i * count / n);
  std::vector<float> found(static_cast<size_t>(n * n));
  Labels::write(&labels, some.data(), n, found.data());
  double sum = 0.0;
  for (int64_t a = 0; a < n; ++a)
    for (int64_t b = a + 1; b < n; ++b) sum += found[static_cast<size_t>(a * n + b)];
  return sum / (0.5 * static_cast<double>(n * (n - 1)));
}

// Scales the inputs so that, before training, distances between the projector's features are about
// `label`. Scaled samples are about sqrt(2) * `label` apart. Random weights keep this distance, and
// the activation halves its square.
Standard standard_of(const SampleSet& samples, double label) {
  const auto inputs = static_cast<size_t>(samples.shape.inputs());
  const auto count = samples.x.size() / inputs;
  std::vector<double> sums(inputs), squares(inputs);
  for (size_t i = 0; i < samples.x.size(); ++i) sums[i % inputs] += samples.x[i];
  for (double& sum : sums) sum /= static_cast<double>(count);
  for (size_t i = 0; i < samples.x.size(); ++i) {
    const double apart = samples.x[i] - sums[i % inputs];
    squares[i % inputs] += apart * apart;
  }
  const double length = std::sqrt(static_cast<double>(inputs));
  Standard standard;
  for (size_t i = 0; i < inputs; ++i) {
    const double deviation = std::sqrt(squares[i] / static_cast<double>(count));
    standard.mean.push_back(static_cast<float>(sums[i]));
    // An input that is the same in all samples carries no information, so its scale is 0.
    standard.scale.push_back(deviation > 0.0 ? static_cast<float>(label / (length * deviation))
                                             : 0.0f);
  }
  return standard;
}

// Folds the standardization into the first layer: W (x - mean) * scale + b = W' x + b'.
void fold(const Standard& standard, ProjectorWeights* weights) {
  const size_t inputs = standard.mean.size();
  for (size_t row = 0; row < weights->bias1.size(); ++row) {
    double shift = 0.0;
    for (size_t i = 0; i < inputs; ++i) {
      float& weight = weights->linear1[row * inputs + i];
      weight *= standard.scale[i];
      shift += double{weight} * standard.mean[i];
    }
    weights->bias1[row] -= static_cast<float>(shift);
  }
}

}  // namespace

const std::string& training_absence() { return train_module().absence; }

TrainedProjector train_projector(const SampleSet& samples, const MapStore& maps,
                                 const AttnCacheOptions& options, uint64_t seed,
                                 const Context& context, const std::function<void()>& between) {
  if (!training_absence().empty()) raise("{}", training_absence());
  const int64_t count = std::ssize(samples.entries);
  if (samples.shape.kind == ProjectorKind::kRaw)
    raise("a raw projector has nothing to be trained: take \"mlp\" or \"pooled_linear\"");
  if (count < 2) raise("a projector is trained on pairs: {} samples have none", count);
  ProjectorWeights weights = random_weights(samples.shape, seed);
  const std::vector<MutableProjectorTensor> named = tensors_of(samples.shape, weights);
  std::vector<TrainedTensor> tensors = tensors_to_train(named);
  Labels labels{.samples = samples,
                .maps = maps,
                .rule = options.label_rule(),
                .context = context,
                .between = between};
  const bool is_mlp = samples.shape.kind == ProjectorKind::kMlp;
  const Standard standard = is_mlp ? standard_of(samples, mean_label(labels, count)) : Standard{};
  Losses losses = run({.x = samples.x.data(),
                       .samples = count,
                       .inputs = samples.shape.inputs(),
                       .mean = is_mlp ? standard.mean.data() : nullptr,
                       .scale = is_mlp ? standard.scale.data() : nullptr,
                       .is_pooled_linear = samples.shape.kind == ProjectorKind::kPooledLinear,
                       .tensors = tensors.data(),
                       .tensor_count = std::ssize(tensors),
                       .label = Labels::write,
                       .label_state = &labels,
                       .batch = options.batch,
                       .epochs = options.epochs,
                       .learning_rate = options.learning_rate,
                       .momentum = options.momentum,
                       .seed = seed});
  if (is_mlp) fold(standard, &weights);
  ProjectorOrigin origin{.how = "trained",
                         .model = maps.identity().model,
                         .settings = settings_of(options, seed, count)};
  return {{samples.shape, std::move(weights), std::move(origin), context},
          std::move(losses.network),
          std::move(losses.flat)};
}

}  // namespace reprise::attn_cache
