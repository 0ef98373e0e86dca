#include "methods/attn_cache/projector.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/model/checkpoint/safetensors_writer.h"
#include "methods/attn_cache/projector_file.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"
#include "tests/support/kernels.h"

namespace reprise::attn_cache {
namespace {

using model::expect_error;
using model::TempDir;
using reprise::testing::random_values;

TensorView states_of(std::vector<float>& values, int64_t hidden) {
  return {values.data(), DType::kF32, {std::ssize(values) / hidden, hidden}};
}

std::vector<float> pooled(const ProjectorShape& shape, std::vector<float> states) {
  std::vector<float> x(static_cast<size_t>(shape.inputs()));
  pool_hidden(shape, states_of(states, shape.hidden), x);
  return x;
}

TEST(Pooling, AveragesPartsOfEqualLength) {
  const ProjectorShape shape = mlp_shape(2, 2, 3, 3);
  EXPECT_EQ(pooled(shape, {1, 10, 3, 30, 5, 50, 7, 70}), (std::vector<float>{2, 20, 6, 60}));
  // Three tokens: the one in the middle belongs to both parts.
  EXPECT_EQ(pooled(shape, {1, 10, 3, 30, 5, 50}), (std::vector<float>{2, 20, 4, 40}));
  EXPECT_EQ(pooled(shape, {1, 10}), (std::vector<float>{1, 10, 1, 10}));
}

TEST(Pooling, OfTheReleasedCodeTakesMaximaOfTiles) {
  // With five tokens of five values, the last row and column have no partner.
  const ProjectorShape shape = pooled_linear_shape(5, 5, 3, 3);
  EXPECT_EQ(shape.pooled_rows, 2);
  EXPECT_EQ(shape.inputs(), 4);
  EXPECT_EQ(pooled(shape, {1,  2,  3,  4,  99,  //
                           -1, 8,  -3, -4, 99,  //
                           -9, -8, 0,  1,  99,  //
                           -7, -6, 2,  -1, 99,  //
                           99, 99, 99, 99, 99}),
            (std::vector<float>{8, 4, -6, 2}));
}

// The padding of shorter prompts is rows of zeros in front.
TEST(Pooling, OfAShorterPromptPadsOnTheLeft) {
  const ProjectorShape shape = pooled_linear_shape(2, 6, 3, 3);
  EXPECT_EQ(pooled(shape, {-1, -2, -3, -4, -5, -6}), (std::vector<float>{0, 0, -3}));
  EXPECT_EQ(pooled(shape, {-1, -2, -3, -4}), (std::vector<float>{0, 0, -1}));
}

// The input sizes that the released code lists for a hidden size of 3072.
TEST(Pooling, OfTheReleasedCodeHasItsSizes) {
  EXPECT_EQ(pooled_linear_shape(3072, 189, 128, 128).inputs(), 144384);
  EXPECT_EQ(pooled_linear_shape(3072, 835, 128, 128).inputs(), 159744);
}

// One minus the squared distance of two vectors is the cosine of the states that they come from.
TEST(RawProjector, SimilarityIsTheCosineOfPooledStates) {
  const TempDir dir;
  const Context context = Context::machine();
  const ProjectorShape shape = raw_shape(3, 2);
  EXPECT_EQ(shape.inputs(), 6);
  EXPECT_EQ(shape.features, 6);
  Projector projector = Projector::random(shape, 1, "m", context);
  EXPECT_EQ(projector.origin().how, "none");
  std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {2, 0, 1, -1, 4, 4}, zeros(6, 0.0f);
  std::vector<float> f_a(6), f_b(6), f_zeros(6, 1.0f);
  projector.project(states_of(a, 3), f_a);
  projector.project(states_of(b, 3), f_b);
  projector.project(states_of(zeros, 3), f_zeros);
  double distance = 0;
  for (size_t i = 0; i < 6; ++i) distance += (double{f_a[i]} - f_b[i]) * (double{f_a[i]} - f_b[i]);
  // <a, b> = 2 + 3 - 4 + 20 + 24, |a|^2 = 91, |b|^2 = 38
  EXPECT_NEAR(1 - distance, 45 / std::sqrt(91.0 * 38), 1e-6);
  EXPECT_EQ(f_zeros, zeros);
  projector.save(dir.path() / "raw.safetensors");
  const Projector again = Projector::load(dir.path() / "raw.safetensors", context);
  EXPECT_EQ(again.shape(), shape);
  EXPECT_EQ(again.fingerprint(), projector.fingerprint());
  expect_error([] { (void)raw_shape(3, 0); }, {"3 hidden values", "0 pooled rows"});
  EXPECT_EQ(raw_shape(64, 1024).features, 65536);
  expect_error([] { (void)raw_shape(64, 1025); }, {"1025 pooled rows", "65600", "65536 at most"});
}

// The projector f by its definition, in double precision.
std::vector<double> reference(const ProjectorShape& shape, const ProjectorWeights& w,
                              const std::vector<float>& x) {
  const bool norms = shape.kind == ProjectorKind::kPooledLinear;
  const auto norm = [](const ProjectorWeights::BatchNorm& n, size_t c, double value) {
    return (value - n.mean[c]) / std::sqrt(n.variance[c] + 1e-5) * n.weight[c] + n.bias[c];
  };
  const auto inputs = static_cast<size_t>(shape.inputs()), width = static_cast<size_t>(shape.width);
  std::vector<double> between(width), out(static_cast<size_t>(shape.features));
  for (size_t o = 0; o < width; ++o) {
    double sum = w.bias1[o];
    for (size_t i = 0; i < inputs; ++i)
      sum += w.linear1[o * inputs + i] * (norms ? norm(w.norm0, 0, x[i]) : double{x[i]});
    between[o] = norms ? norm(w.norm1, o, sum) : std::max(sum, 0.0);
  }
  for (size_t o = 0; o < out.size(); ++o) {
    out[o] = w.bias2[o];
    for (size_t i = 0; i < width; ++i) out[o] += w.linear2[o * width + i] * between[i];
  }
  return out;
}

ProjectorWeights some_weights(const ProjectorShape& shape) {
  ProjectorWeights weights = random_weights(shape, 5);
  uint64_t seed = 6;
  for (const MutableProjectorTensor& tensor : tensors_of(shape, weights)) {
    const std::vector<float> more = random_values(tensor.elements(), seed++, DType::kF32, 0.3f);
    const bool is_variance = tensor.name.ends_with("running_var");
    for (size_t i = 0; i < more.size(); ++i)
      (*tensor.values)[i] += is_variance ? std::abs(more[i]) : more[i];
  }
  return weights;
}

std::vector<ProjectorShape> some_shapes() {
  return {mlp_shape(24, 3, 17, 9), mlp_shape(8, 1, 64, 128), pooled_linear_shape(24, 7, 17, 9),
          pooled_linear_shape(6, 300, 5, 130)};
}

TEST(Projector, IsWhatItsDefinitionSays) {
  const Context context = Context::machine();
  for (const ProjectorShape& shape : some_shapes()) {
    const ProjectorWeights weights = some_weights(shape);
    Projector projector(shape, weights, {}, context);
    const int64_t tokens = shape.tokens > 0 ? shape.tokens : 11;
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      std::vector<float> states = random_values(tokens * shape.hidden, 7, dtype);
      const Tensor held = reprise::testing::tensor_of(states, dtype);
      const TensorView view = {const_cast<void*>(held.data()), dtype, {tokens, shape.hidden}};
      std::vector<float> got(static_cast<size_t>(shape.features)), again(got.size());
      projector.project(view, got);
      const std::vector<double> want = reference(shape, weights, pooled(shape, states));
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], want[i], 1e-4 * (1 + std::abs(want[i])));
      projector.project(view, again);  // the second call must not depend on the first
      EXPECT_EQ(again, got);
      projector.project_pooled(pooled(shape, states), again);
      EXPECT_EQ(again, got);
    }
  }
}

TEST(Projector, ItsFileGivesItBack) {
  const TempDir folder;
  const auto path = folder.path() / "projector.safetensors";
  const Context context = Context::machine();
  for (const ProjectorShape& shape : some_shapes()) {
    const Projector projector(
        shape, some_weights(shape),
        {.how = "trained", .model = "a \"model\"", .settings = R"({"epochs":3})"}, context);
    projector.save(path);
    Projector again = Projector::load(path, context);
    EXPECT_EQ(again.shape(), shape);
    EXPECT_EQ(again.fingerprint(), projector.fingerprint());
    EXPECT_EQ(again.origin().how, "trained");
    EXPECT_EQ(again.origin().model, "a \"model\"");
    EXPECT_EQ(again.origin().settings, R"({"epochs":3})");
  }
}

TEST(Projector, FingerprintsTellProjectorsApart) {
  const ProjectorShape shape = mlp_shape(8, 2, 4, 4);
  const Context context = Context::machine();
  const Projector one = Projector::random(shape, 1, "m", context);
  EXPECT_EQ(one.fingerprint(), Projector::random(shape, 1, "m", context).fingerprint());
  EXPECT_NE(one.fingerprint(), Projector::random(shape, 2, "m", context).fingerprint());
  ProjectorWeights weights = random_weights(shape, 1);
  weights.bias2.back() += 1e-6f;
  EXPECT_NE(one.fingerprint(), Projector(shape, weights, {}, context).fingerprint());
}

// A projector without training must roughly keep distances.
TEST(Projector, RandomWeightsKeepEqualStatesTogetherAndOthersApart) {
  const ProjectorShape shape = mlp_shape(64, 4, 128, 128);
  Projector projector = Projector::random(shape, 1, "m", Context::machine());
  std::vector<float> x = random_values(shape.inputs(), 1), y = random_values(shape.inputs(), 2);
  std::vector<float> of_x(128), of_y(128), of_near(128);
  projector.project_pooled(x, of_x);
  projector.project_pooled(y, of_y);
  std::vector<float> near = x;
  for (size_t i = 0; i < near.size(); ++i) near[i] += 0.01f * y[i];
  projector.project_pooled(near, of_near);
  const auto distance = [](const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    return std::sqrt(sum);
  };
  EXPECT_LT(distance(of_x, of_near), 0.05 * distance(of_x, of_y));
  EXPECT_GT(distance(of_x, of_y), 1.0);
}

TEST(Projector, FilesThatAreNoneAreErrors) {
  const TempDir folder;
  const auto path = folder.path() / "other.safetensors";
  const Context context = Context::machine();
  const std::vector<float> values = {1, 2};
  const model::TensorToWrite tensor = {"linear1.weight", {2}, values};
  model::write_safetensors(path, {&tensor, 1});
  expect_error([&] { (void)Projector::load(path, context); }, {path.string(), "reprise_projector"});
  const Json description = {{"shape", describe_shape(mlp_shape(4, 1, 2, 2))},
                            {"how", "random"},
                            {"model", "m"},
                            {"settings", Json::object()}};
  const auto write = [&](const Json& json) {
    model::write_safetensors(path, {&tensor, 1}, Json{{"reprise_projector", json.dump()}}.dump());
  };
  write(description);
  expect_error([&] { (void)Projector::load(path, context); }, {"linear1.weight", "[2]"});
  Json broken = description;
  broken["shape"]["kind"] = "mpl";
  write(broken);
  expect_error([&] { (void)Projector::load(path, context); }, {"mpl", "\"mlp\""});
  broken = description;
  broken["shape"]["widht"] = 3;
  write(broken);
  expect_error([&] { (void)Projector::load(path, context); }, {"widht", "width"});
  expect_error([] { (void)parse_projector_kind("linear"); }, {"linear", "pooled_linear"});
  expect_error([] { (void)pooled_linear_shape(3072, 1, 128, 128); }, {"1 tokens"});
  expect_error([] { (void)mlp_shape(3072, 0, 128, 128); }, {"0 pooled rows"});
}

TEST(Projector, StatesOfOtherShapesAreErrors) {
  const Context context = Context::machine();
  std::vector<float> states(12), feature(3);
  Projector mlp = Projector::random(mlp_shape(4, 2, 3, 3), 1, "m", context);
  EXPECT_THROW(mlp.project(states_of(states, 6), feature), ShapeError);
  Projector linear = Projector::random(pooled_linear_shape(4, 2, 3, 3), 1, "m", context);
  expect_error([&] { linear.project(states_of(states, 4), feature); }, {"3 tokens", "cut"});
}

}  // namespace
}  // namespace reprise::attn_cache
