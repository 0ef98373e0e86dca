// The feature projector: from a prompt's hidden states to the vector that is looked up.
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
  // [AttnCache §3.1]: f = W2 relu(W1 x + b1) + b2, a perceptron of two layers. How a prompt of any
  // length becomes x the paper does not say; here x is the mean of its tokens in each of
  // `pooled_rows` parts of equal length, one after the other.
  kMlp,
  // The released code: x is the prompt's hidden states as an image, of which each 2 x 2 and then,
  // until there are at most 128 rows, each 2 x 1 becomes its maximum;
  // f = W2 bn(W1 bn(x) + b1) + b2, without an activation. Takes prompts of one length alone.
  kPooledLinear,
  // Beyond the paper, without weights: f is x of kMlp, divided by sqrt(2) of its length, so that 1
  // less the squared distance of two vectors is the cosine of the prompts' pooled hidden states.
  kRaw
};

std::string_view name_of(ProjectorKind kind);  // "mlp", "pooled_linear", "raw"
// Throws Error with the nearest name.
ProjectorKind parse_projector_kind(std::string_view name);

struct ProjectorShape {
  ProjectorKind kind = ProjectorKind::kMlp;
  int64_t hidden = 0;       // of the model
  int64_t pooled_rows = 0;  // kPooledLinear: what pooling leaves; else parts of a prompt
  int64_t tokens = 0;       // kPooledLinear: of every prompt; else 0
  int64_t width = 128;      // between the layers; kRaw: 0
  int64_t features = 128;   // of the vector

  // Columns of a pooled row.
  [[nodiscard]] int64_t pooled_cols() const {
    return kind == ProjectorKind::kPooledLinear ? hidden / 2 : hidden;
  }
  // Of x.
  [[nodiscard]] int64_t inputs() const { return pooled_rows * pooled_cols(); }
  bool operator==(const ProjectorShape&) const = default;
};

ProjectorShape mlp_shape(int64_t hidden, int64_t pooled_rows, int64_t width, int64_t features);
// Throws Error for prompts or states too small to pool.
ProjectorShape pooled_linear_shape(int64_t hidden, int64_t tokens, int64_t width, int64_t features);
ProjectorShape raw_shape(int64_t hidden, int64_t pooled_rows);

// x [inputs] f32 of a prompt's hidden states [tokens, hidden], f32 or bf16. Throws ShapeError where
// they are not of the shape's hidden size or, for kPooledLinear, length.
void pool_hidden(const ProjectorShape& shape, const TensorView& hidden, std::span<float> x);

// Weights as they are trained and kept; a name for each tensor as in the file.
struct ProjectorWeights {
  std::vector<float> linear1, bias1;  // "linear1.weight" [width, inputs], "linear1.bias" [width]
  std::vector<float> linear2, bias2;  // "linear2.weight" [features, width], "linear2.bias"
  // Of kPooledLinear: batch normalization with what training has seen,
  // y = (x - mean) / sqrt(variance + 1e-5) * weight + bias, once for all of x, once for each of the
  // `width` values. "norm0..." [1], "norm1..." [width]: weight, bias, running_mean, running_var.
  struct BatchNorm {
    std::vector<float> weight, bias, mean, variance;
  };
  BatchNorm norm0, norm1;
};

// Random weights, by which distances stay about what they are in x (Johnson and Lindenstrauss; kMlp
// halves them by its activation); batch normalization that changes nothing; none for kRaw.
ProjectorWeights random_weights(const ProjectorShape& shape, uint64_t seed);

// Where a projector comes from: kept in its file, told in records.
struct ProjectorOrigin {
  std::string how = "random";   // "random", "trained"; "none": there are no weights
  std::string model;            // fingerprint of the model whose states it takes
  std::string settings = "{}";  // JSON: of training
};

// Immutable. project() may be called by one thread at a time.
class Projector {
 public:
  // Throws ShapeError where a weight does not have the size that the shape gives it.
  Projector(const ProjectorShape& shape, ProjectorWeights weights, ProjectorOrigin origin,
            const Context& context);

  // With random_weights(): beyond the paper, for work without training. The one of kRaw is whole.
  static Projector random(const ProjectorShape& shape, uint64_t seed, std::string model,
                          const Context& context);

  // A .safetensors file with the tensors above, and shape and origin as metadata. Throws Error
  // naming the path and what is missing or of another shape.
  static Projector load(const std::filesystem::path& path, const Context& context);
  void save(const std::filesystem::path& path) const;

  [[nodiscard]] const ProjectorShape& shape() const { return shape_; }
  [[nodiscard]] const ProjectorOrigin& origin() const { return origin_; }
  // XXH3 of shape and weights as 16 hexadecimal digits: vectors of one projector mean nothing to
  // another.
  [[nodiscard]] const std::string& fingerprint() const { return fingerprint_; }

  // feature [features] f32 of a prompt's hidden states. Errors as pool_hidden().
  void project(const TensorView& hidden, std::span<float> feature);
  // features [n, features] of x [n, inputs].
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
