// Input and output of the module that trains a projector. Plain data, because only the module is
// compiled against libtorch's headers.
#pragma once

#include <cstdint>

namespace reprise::attn_cache {

// A tensor of the projector, by its name in the file. It holds the initial values, and after
// training the trained values.
struct TrainedTensor {
  const char* name = nullptr;
  const int64_t* shape = nullptr;  // [rank]
  int64_t rank = 0;
  float* values = nullptr;
};

// Writes the labels (wanted distances) of all pairs among n samples. `samples` [n] are indices into
// TrainingProblem::x. Of `labels` [n, n], only entries above the diagonal are written and read.
using LabelPairs = void (*)(void* state, const int64_t* samples, int64_t n, float* labels);

// The training problem of [AttnCache §3.1, equations 1 to 3]. Both copies of the Siamese network
// share their weights, so a batch of n samples passes the network once and gives n (n - 1) / 2
// pairs.
struct TrainingProblem {
  const float* x = nullptr;  // [samples, inputs]
  int64_t samples = 0, inputs = 0;
  // The network's input is (x - mean) * scale, both [inputs]; null: x itself.
  const float* mean = nullptr;
  const float* scale = nullptr;
  bool is_pooled_linear = false;  // true: batch norm before each layer; false: relu after the first
  TrainedTensor* tensors = nullptr;
  int64_t tensor_count = 0;
  LabelPairs label = nullptr;
  void* label_state = nullptr;
  int64_t batch = 64, epochs = 3;
  double learning_rate = 0.1, momentum = 0.9;
  uint64_t seed = 1;  // seed of the samples' order
};

// Trains. Writes the mean loss of each epoch to losses [epochs], and the loss of predicting a
// batch's mean label for each of its pairs to flat_losses [epochs]. Throws std::exception.
using TrainProjector = void (*)(const TrainingProblem& problem, double* losses,
                                double* flat_losses);
inline constexpr const char* kTrainProjector = "reprise_train_projector";

}  // namespace reprise::attn_cache
