// What the module that trains a projector is given and gives back: plain data, since one side of
// the seam is compiled against libtorch's headers and the other must not be.
#pragma once

#include <cstdint>

namespace reprise::attn_cache {

// A tensor of the projector, by its name in the file, at first as training begins and then as it
// ends.
struct TrainedTensor {
  const char* name = nullptr;
  const int64_t* shape = nullptr;  // [rank]
  int64_t rank = 0;
  float* values = nullptr;
};

// Distances wanted of all pairs of some samples: writes labels [n, n], of which only a < b count.
using LabelPairs = void (*)(void* state, const int64_t* samples, int64_t n, float* labels);

// [AttnCache §3.1, equations 1 to 3]: both copies of the Siamese network are one set of weights, so
// a batch of n samples passes it once and gives n (n - 1) / 2 pairs.
struct TrainingProblem {
  const float* x = nullptr;  // [samples, inputs]
  int64_t samples = 0, inputs = 0;
  // The network is given (x - mean) * scale, both [inputs]; null: x itself.
  const float* mean = nullptr;
  const float* scale = nullptr;
  bool is_pooled_linear = false;  // batch normalization and no activation; else relu between
  TrainedTensor* tensors = nullptr;
  int64_t tensor_count = 0;
  LabelPairs label = nullptr;
  void* label_state = nullptr;
  int64_t batch = 64, epochs = 3;
  double learning_rate = 0.1, momentum = 0.9;
  uint64_t seed = 1;  // of the samples' order
  int threads = 1;
};

// Writes the mean loss of each epoch to losses [epochs], and to flat_losses [epochs] that of saying
// a batch's mean label for each of its pairs. Throws std::exception.
using TrainProjector = void (*)(const TrainingProblem& problem, double* losses,
                                double* flat_losses);
inline constexpr const char* kTrainProjector = "reprise_train_projector";

}  // namespace reprise::attn_cache
