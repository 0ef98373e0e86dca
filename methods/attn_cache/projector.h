// The feature projector: computes a prompt's feature vector, by which stored prompts are looked up,
// from the prompt's hidden states.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/context.h"
#include "core/device/tensor.h"
#include "core/kernels/linear/linear.h"

namespace reprise::attn_cache {

enum class ProjectorKind : uint8_t {
  // [AttnCache §3.1]: f = W2 relu(W1 x + b1) + b2, a perceptron of two layers. The paper does not
  // say how a prompt of any length becomes x. Here the tokens are cut into `pooled_rows` parts of
  // about equal length, and x holds the mean of each part.
  kMlp,
  // The released code. It treats the prompt's hidden states as an image and takes the maximum of
  // each 2 x 2 square, then of each pair of rows until there are at most 128 rows. There is no
  // activation: f = W2 bn(W1 bn(x) + b1) + b2. All prompts count as padded on the left to one
  // length; the padding's rows are zeros.
  kPooledLinear,
  // Beyond the paper, without weights: f = x / (sqrt(2) ||x||) with the x of kMlp, so that the
  // cosine of two prompts' pooled hidden states is 1 - ||f - f'||^2.
  kRaw
};

std::string_view name_of(ProjectorKind kind);  // "mlp", "pooled_linear", "raw"
// Throws Error with the nearest name.
ProjectorKind parse_projector_kind(std::string_view name);

// Upper bound on the features of a stored vector.
inline constexpr int64_t kMostFeatures = 1 << 16;

struct ProjectorShape {
  ProjectorKind kind = ProjectorKind::kMlp;
  int64_t hidden = 0;       // hidden size of the model
  int64_t pooled_rows = 0;  // kPooledLinear: rows after pooling; otherwise parts of a prompt
  int64_t tokens = 0;       // kPooledLinear: length to which prompts are padded; otherwise 0
  int64_t width = 128;      // values between the two layers; kRaw: 0
  int64_t features = 128;   // size of the feature vector

  // Columns of a pooled row.
  [[nodiscard]] int64_t pooled_cols() const {
    return kind == ProjectorKind::kPooledLinear ? hidden / 2 : hidden;
  }
  // Number of values in x.
  [[nodiscard]] int64_t inputs() const { return pooled_rows * pooled_cols(); }
  bool operator==(const ProjectorShape&) const = default;
};

ProjectorShape mlp_shape(int64_t hidden, int64_t pooled_rows, int64_t width, int64_t features);
// Throws Error for prompts or states too small to pool.
ProjectorShape pooled_linear_shape(int64_t hidden, int64_t tokens, int64_t width, int64_t features);
// Throws Error if the features would be more than kMostFeatures.
ProjectorShape raw_shape(int64_t hidden, int64_t pooled_rows);

// Pools a prompt's hidden states [tokens, hidden], f32 or bf16, into x [inputs] f32. Throws
// ShapeError if the hidden size of the states differs from `shape.hidden` or, for kPooledLinear, if
// there are more tokens than `shape` allows.
void pool_hidden(const ProjectorShape& shape, const TensorView& hidden, std::span<float> x);

// The trained weights. Comments give the tensors' names in the file.
struct ProjectorWeights {
  std::vector<float> linear1, bias1;  // "linear1.weight" [width, inputs], "linear1.bias" [width]
  std::vector<float> linear2, bias2;  // "linear2.weight" [features, width], "linear2.bias"
  // Batch normalization of kPooledLinear with the statistics of training: y = (x - mean) /
  // sqrt(variance + 1e-5) * weight + bias. norm0 [1] applies to all of x, norm1 [width] to each of
  // the `width` values. Tensors "norm0...": weight, bias, running_mean, running_var.
  struct BatchNorm {
    std::vector<float> weight, bias, mean, variance;
  };
  BatchNorm norm0, norm1;
};

// Random weights, which roughly preserve distances between inputs x (Johnson and Lindenstrauss; the
// activation of kMlp halves the squared distances). Their batch normalization changes nothing. For
// kRaw there are no weights.
ProjectorWeights random_weights(const ProjectorShape& shape, uint64_t seed);

// The origin of a projector, which its file and records state.
struct ProjectorOrigin {
  std::string how = "random";   // "random", "trained"; "none": there are no weights
  std::string model;            // fingerprint of the model whose states it takes
  std::string settings = "{}";  // settings of training as JSON
};

// Computes feature vectors. Immutable but for its buffers, so one thread at a time may call
// project() and project_pooled().
class Projector {
 public:
  // Throws ShapeError if a weight does not have the size that the shape requires.
  Projector(const ProjectorShape& shape, ProjectorWeights weights, ProjectorOrigin origin,
            const Context& context);

  // A projector with random_weights(), for use without training; this is beyond the paper. kRaw
  // needs no weights.
  static Projector random(const ProjectorShape& shape, uint64_t seed, std::string model,
                          const Context& context);

  // Read and write a .safetensors file with the tensors of ProjectorWeights, and with shape and
  // origin as metadata. load() throws Error naming the path and the tensor that is missing or has
  // another shape.
  static Projector load(const std::filesystem::path& path, const Context& context);
  void save(const std::filesystem::path& path) const;

  [[nodiscard]] const ProjectorShape& shape() const { return shape_; }
  [[nodiscard]] const ProjectorOrigin& origin() const { return origin_; }
  // XXH3 of shape and weights as 16 hexadecimal digits. Vectors of projectors with different
  // fingerprints must not be compared.
  [[nodiscard]] const std::string& fingerprint() const { return fingerprint_; }

  // Computes feature [features] f32 from a prompt's hidden states. Throws as pool_hidden().
  void project(const TensorView& hidden, std::span<float> feature);
  // Computes features [n, features] from x [n, inputs].
  void project_pooled(std::span<const float> x, std::span<float> features);

 private:
  void scale_raw(std::span<const float> x, std::span<float> features) const;

  ProjectorShape shape_;
  ProjectorWeights weights_;
  ProjectorOrigin origin_;
  std::string fingerprint_;
  Context context_;
  kernels::Weight linear1_, linear2_;
  std::unique_ptr<kernels::LinearWorkspace> workspace_;
  std::vector<float> pooled_, between_;
};

}  // namespace reprise::attn_cache
