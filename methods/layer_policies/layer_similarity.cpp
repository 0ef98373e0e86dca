#include "methods/layer_policies/layer_similarity.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"

namespace reprise::model {
namespace {

// The cosine of two vectors [cols]; 1 if both are zero.
double cosine_of(const float* x, const float* y, int64_t cols) {
  double xy = 0.0, xx = 0.0, yy = 0.0;
  for (int64_t i = 0; i < cols; ++i) {
    xy += double{x[i]} * y[i];
    xx += double{x[i]} * x[i];
    yy += double{y[i]} * y[i];
  }
  return xx > 0.0 && yy > 0.0 ? xy / std::sqrt(xx * yy) : static_cast<double>(xx == yy);
}

}  // namespace

LayerSimilarity::LayerSimilarity(int64_t layers) : sums_(static_cast<size_t>(layers)) {}

LayerChoice LayerSimilarity::choose(LayerInput& input) {
  const TensorView residual = input.residual();
  const auto* values = residual.as<const float>();
  input_.assign(values, values + residual.elements());
  return {};
}

void LayerSimilarity::passed(int64_t layer, BlockPoint point, const TensorView& residual) {
  const int64_t rows = residual.shape[0], cols = residual.shape[1];
  REPRISE_CHECK(residual.elements() == std::ssize(input_), "{} values of layer {}, {} went in",
                residual.elements(), layer, input_.size());
  double sum = 0.0;
  for (int64_t row = 0; row < rows; ++row)
    sum += cosine_of(input_.data() + row * cols, residual.as<const float>() + row * cols, cols);
  Sums& sums = sums_.at(static_cast<size_t>(layer));
  const bool is_block = point == BlockPoint::kDone;
  (is_block ? sums.block : sums.attention) += sum;
  (is_block ? sums.block_rows : sums.attention_rows) += rows;
}

std::vector<LayerCosine> LayerSimilarity::layers() const {
  std::vector<LayerCosine> cosines;
  for (const Sums& sums : sums_) {
    if (sums.attention_rows == 0 || sums.block_rows == 0)
      raise("what layer {} changes was not measured: run calibration prompts first",
            cosines.size());
    cosines.push_back({.attention = sums.attention / static_cast<double>(sums.attention_rows),
                       .block = sums.block / static_cast<double>(sums.block_rows)});
  }
  return cosines;
}

std::vector<int64_t> most_similar_layers(std::span<const double> cosines, int64_t count) {
  if (count < 0 || count > std::ssize(cosines))
    raise("{} layers of {} cannot be left out", count, cosines.size());
  std::vector<int64_t> order(cosines.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const double of_a = cosines[static_cast<size_t>(a)], of_b = cosines[static_cast<size_t>(b)];
    return of_a > of_b || (of_a == of_b && a > b);
  });
  order.resize(static_cast<size_t>(count));
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace reprise::model
