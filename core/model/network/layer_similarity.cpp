#include "core/model/network/layer_similarity.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"

namespace reprise::model {
namespace {

// Sum over the rows of the cosine of a row of x and one of y; rows of zeros are alike.
double cosines_of_rows(std::span<const float> x, const float* y, int64_t cols) {
  double sum = 0.0;
  for (size_t first = 0; first < x.size(); first += static_cast<size_t>(cols)) {
    double xy = 0.0, xx = 0.0, yy = 0.0;
    for (size_t i = first; i < first + static_cast<size_t>(cols); ++i) {
      xy += double{x[i]} * y[i];
      xx += double{x[i]} * x[i];
      yy += double{y[i]} * y[i];
    }
    sum += xx > 0.0 && yy > 0.0 ? xy / std::sqrt(xx * yy) : static_cast<double>(xx == yy);
  }
  return sum;
}

}  // namespace

LayerSimilarity::LayerSimilarity(int64_t layers) : sums_(static_cast<size_t>(layers)) {}

LayerChoice LayerSimilarity::choose(LayerInput& input) {
  const TensorView residual = input.residual();
  const auto* values = residual.as<const float>();
  input_.assign(values, values + residual.elements());
  sums_.at(static_cast<size_t>(input.layer())).rows += residual.shape[0];
  return {};
}

void LayerSimilarity::passed(int64_t layer, BlockPoint point, const TensorView& residual) {
  if (residual.elements() != std::ssize(input_))
    raise(
        "the change that layer {} makes is measured on all rows of a step, and {} of {} values "
        "were computed: ask for the hidden states of every row",
        layer, residual.elements(), input_.size());
  Sums& sums = sums_.at(static_cast<size_t>(layer));
  (point == BlockPoint::kAttended ? sums.attention : sums.block) +=
      cosines_of_rows(input_, residual.as<const float>(), residual.shape[1]);
}

std::vector<LayerCosine> LayerSimilarity::layers() const {
  std::vector<LayerCosine> cosines;
  for (const Sums& sums : sums_) {
    if (sums.rows == 0) raise("no layer was measured: run calibration prompts first");
    const auto rows = static_cast<double>(sums.rows);
    cosines.push_back({.attention = sums.attention / rows, .block = sums.block / rows});
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
