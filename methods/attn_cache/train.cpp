#include "methods/attn_cache/train.h"

#include <exception>
#include <nlohmann/json.hpp>
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
      load_torch_module(REPRISE_TORCH_VERSION, REPRISE_TRAIN_MODULE, kTrainProjector,
                        "training AttnCache's projector needs");
  return loaded;
}

// What the module asks labels of.
struct Labels {
  const SampleSet& samples;
  const MapStore& maps;
  LabelWeights weights;
  Context context;
  std::vector<IndexEntry> entries;  // of the batch

  static void write(void* state, const int64_t* batch, int64_t n, float* labels) {
    auto& self = *static_cast<Labels*>(state);
    self.entries.clear();
    for (int64_t i = 0; i < n; ++i)
      self.entries.push_back(self.samples.entries[static_cast<size_t>(batch[i])]);
    label_pairs(self.maps, self.entries, self.weights, {labels, static_cast<size_t>(n * n)},
                self.context);
  }
};

std::string settings_of(const AttnCacheOptions& options, uint64_t seed, int64_t samples) {
  return Json{{"map_weight", options.map_weight},
              {"length_weight", options.length_weight},
              {"batch", options.batch},
              {"epochs", options.epochs},
              {"learning_rate", options.learning_rate},
              {"momentum", options.momentum},
              {"seed", seed},
              {"samples", samples},
              {"libtorch", REPRISE_TORCH_VERSION}}
      .dump();
}

// The weights by name, for the module to read and write.
std::vector<TrainedTensor> tensors_to_train(const std::vector<MutableProjectorTensor>& named) {
  std::vector<TrainedTensor> tensors;
  for (const MutableProjectorTensor& tensor : named)
    tensors.push_back({.name = tensor.name.c_str(),
                       .shape = tensor.shape.data(),
                       .rank = std::ssize(tensor.shape),
                       .values = tensor.values->data()});
  return tensors;
}

// The module's exceptions carry a stack trace after the first line.
std::vector<double> run(const TrainingProblem& problem) {
  std::vector<double> losses(static_cast<size_t>(problem.epochs));
  try {
    reinterpret_cast<TrainProjector>(train_module().symbol)(problem, losses.data());
  } catch (const Error&) {
    throw;  // of a label: a damaged map
  } catch (const std::exception& error) {
    const std::string text = error.what();
    raise("training a projector by libtorch {} failed: {}", REPRISE_TORCH_VERSION,
          text.substr(0, text.find('\n')));
  }
  return losses;
}

}  // namespace

const std::string& training_absence() { return train_module().absence; }

TrainedProjector train_projector(const SampleSet& samples, const MapStore& maps,
                                 const AttnCacheOptions& options, uint64_t seed,
                                 const Context& context) {
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
                .weights = {.map = options.map_weight, .length = options.length_weight},
                .context = context,
                .entries = {}};
  std::vector<double> losses =
      run({.x = samples.x.data(),
           .samples = count,
           .inputs = samples.shape.inputs(),
           .is_pooled_linear = samples.shape.kind == ProjectorKind::kPooledLinear,
           .tensors = tensors.data(),
           .tensor_count = std::ssize(tensors),
           .label = Labels::write,
           .label_state = &labels,
           .batch = options.batch,
           .epochs = options.epochs,
           .learning_rate = options.learning_rate,
           .momentum = options.momentum,
           .seed = seed,
           .threads = context.threads});
  ProjectorOrigin origin{.how = "trained",
                         .model = maps.identity().model,
                         .settings = settings_of(options, seed, count)};
  return {{samples.shape, std::move(weights), std::move(origin), context}, std::move(losses)};
}

}  // namespace reprise::attn_cache
