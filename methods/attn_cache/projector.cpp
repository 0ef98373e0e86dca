#include "methods/attn_cache/projector.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/base/error.h"
#include "core/base/random.h"
#include "methods/attn_cache/projector_file.h"

namespace reprise::attn_cache {
namespace {

constexpr float kBatchNormEpsilon = 1e-5f;

std::string fingerprint_of(const ProjectorShape& shape, const ProjectorWeights& weights) {
  const std::array<int64_t, 6> numbers = {static_cast<int64_t>(shape.kind),
                                          shape.hidden,
                                          shape.pooled_rows,
                                          shape.tokens,
                                          shape.width,
                                          shape.features};
  uint64_t hash = XXH3_64bits(numbers.data(), sizeof numbers);
  for (const ProjectorTensor& tensor : tensors_of(shape, weights))
    hash = XXH3_64bits_withSeed(tensor.values->data(), tensor.values->size() * sizeof(float), hash);
  return fmt::format("{:016x}", hash);
}

kernels::Weight weight_of(const std::vector<float>& values, int64_t rows, int64_t cols,
                          const Context& context) {
  return {rows, cols, WeightFormat::kF32,
          [&](int64_t first, int64_t end, void* out) {
            std::copy(values.begin() + first * cols, values.begin() + end * cols,
                      static_cast<float*>(out));
          },
          context};
}

// Normalizes values [rows, cols]. `norm` has one set of statistics per column, or a single set for
// all values.
void batch_norm(const ProjectorWeights::BatchNorm& norm, std::span<float> values) {
  const size_t cols = norm.weight.size();
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t c = i % cols;
    const float deviation = std::sqrt(norm.variance[c] + kBatchNormEpsilon);
    values[i] = (values[i] - norm.mean[c]) / deviation * norm.weight[c] + norm.bias[c];
  }
}

// Element i of a stream of standard normal numbers (Box and Muller).
float random_normal(uint64_t seed, uint64_t stream, uint64_t i) {
  const double u = 1.0 - random_unit(seed, stream, 2 * i), v = random_unit(seed, stream, 2 * i + 1);
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v));
}

std::vector<float> random_matrix(int64_t rows, int64_t cols, uint64_t seed, uint64_t stream) {
  std::vector<float> values(static_cast<size_t>(rows * cols));
  const float scale = 1.0f / std::sqrt(static_cast<float>(rows));
  for (size_t i = 0; i < values.size(); ++i) values[i] = scale * random_normal(seed, stream, i);
  return values;
}

}  // namespace

std::string_view name_of(ProjectorKind kind) {
  switch (kind) {
    case ProjectorKind::kMlp:
      return "mlp";
    case ProjectorKind::kPooledLinear:
      return "pooled_linear";
    case ProjectorKind::kRaw:
      break;
  }
  return "raw";
}

ProjectorKind parse_projector_kind(std::string_view name) {
  const std::array<std::string, 3> known = {"mlp", "pooled_linear", "raw"};
  for (const ProjectorKind kind :
       {ProjectorKind::kMlp, ProjectorKind::kPooledLinear, ProjectorKind::kRaw})
    if (name == name_of(kind)) return kind;
  raise("{}", unknown_name("projector", name, known));
}

Projector::Projector(const ProjectorShape& shape, ProjectorWeights weights, ProjectorOrigin origin,
                     const Context& context)
    : shape_(shape),
      weights_(std::move(weights)),
      origin_(std::move(origin)),
      context_(context),
      workspace_(std::make_unique<kernels::LinearWorkspace>()) {
  for (const ProjectorTensor& tensor : tensors_of(shape_, std::as_const(weights_)))
    if (std::ssize(*tensor.values) != tensor.elements())
      raise_shape("a projector's {} has {} values, its shape has {}", tensor.name,
                  tensor.values->size(), tensor.elements());
  fingerprint_ = fingerprint_of(shape_, weights_);
  if (shape_.kind == ProjectorKind::kRaw) return;
  linear1_ = weight_of(weights_.linear1, shape_.width, shape_.inputs(), context_);
  linear2_ = weight_of(weights_.linear2, shape_.features, shape_.width, context_);
}

ProjectorWeights random_weights(const ProjectorShape& shape, uint64_t seed) {
  const auto width = static_cast<size_t>(shape.width);
  ProjectorWeights weights;
  if (shape.kind == ProjectorKind::kRaw) return weights;
  weights.linear1 = random_matrix(shape.width, shape.inputs(), seed, 1);
  weights.bias1.assign(width, 0.0f);
  weights.linear2 = random_matrix(shape.features, shape.width, seed, 2);
  weights.bias2.assign(static_cast<size_t>(shape.features), 0.0f);
  if (shape.kind == ProjectorKind::kPooledLinear) {
    weights.norm0 = {.weight = {1.0f}, .bias = {0.0f}, .mean = {0.0f}, .variance = {1.0f}};
    weights.norm1 = {.weight = std::vector<float>(width, 1.0f),
                     .bias = std::vector<float>(width, 0.0f),
                     .mean = std::vector<float>(width, 0.0f),
                     .variance = std::vector<float>(width, 1.0f)};
  }
  return weights;
}

Projector Projector::random(const ProjectorShape& shape, uint64_t seed, std::string model,
                            const Context& context) {
  const char* how = shape.kind == ProjectorKind::kRaw ? "none" : "random";
  return {shape, random_weights(shape, seed), {.how = how, .model = std::move(model)}, context};
}

Projector Projector::load(const std::filesystem::path& path, const Context& context) {
  ProjectorFile file = read_projector(path);
  return {file.shape, std::move(file.weights), std::move(file.origin), context};
}

void Projector::save(const std::filesystem::path& path) const {
  write_projector(path, shape_, weights_, origin_);
}

void Projector::project(const TensorView& hidden, std::span<float> feature) {
  pooled_.resize(static_cast<size_t>(shape_.inputs()));
  pool_hidden(shape_, hidden, pooled_);
  project_pooled(pooled_, feature);
}

void Projector::project_pooled(std::span<const float> x, std::span<float> features) {
  const int64_t n = std::ssize(x) / shape_.inputs();
  REPRISE_CHECK(std::ssize(x) == n * shape_.inputs() && std::ssize(features) == n * shape_.features,
                "{} numbers of inputs, room for {} of features", x.size(), features.size());
  if (shape_.kind == ProjectorKind::kRaw) return scale_raw(x, features);
  const bool has_norms = shape_.kind == ProjectorKind::kPooledLinear;
  if (has_norms) {
    if (x.data() != pooled_.data()) pooled_.assign(x.begin(), x.end());
    batch_norm(weights_.norm0, pooled_);
    x = pooled_;
  }
  between_.resize(static_cast<size_t>(n * shape_.width));
  kernels::LinearCall{.x = x.data(), .m = n, .bias = weights_.bias1.data(), .out = between_.data()}
      .run(linear1_, *workspace_, context_);
  if (has_norms) {
    batch_norm(weights_.norm1, between_);
  } else {
    for (float& value : between_) value = std::max(value, 0.0f);
  }
  kernels::LinearCall{
      .x = between_.data(), .m = n, .bias = weights_.bias2.data(), .out = features.data()}
      .run(linear2_, *workspace_, context_);
}

// If x is all zeros, the feature is all zeros too, so that it is similar to no other vector.
void Projector::scale_raw(std::span<const float> x, std::span<float> features) const {
  const auto inputs = static_cast<size_t>(shape_.inputs());
  for (size_t first = 0; first < x.size(); first += inputs) {
    double sum = 0.0;
    for (const float value : x.subspan(first, inputs)) sum += double{value} * value;
    const double factor = sum > 0.0 ? std::sqrt(0.5 / sum) : 0.0;
    for (size_t i = first; i < first + inputs; ++i) features[i] = static_cast<float>(factor * x[i]);
  }
}

}  // namespace reprise::attn_cache
