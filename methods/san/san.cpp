#include "methods/san/san.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/base/error.h"
#include "methods/layer_policies/layer_rules.h"

namespace reprise::san {
namespace {

// p log2(p / m), or 0 if p is 0.
double term(double p, double m) { return p > 0.0 ? p * std::log2(p / m) : 0.0; }

// Jensen-Shannon divergence in bits of two rows of weights [keys], each with sum 1. Since all rows
// have the same sum, the divergence of two heads, each taken as one distribution, is the mean
// divergence of their rows.
double jensen_shannon(const float* p, const float* q, int64_t keys) {
  double sum = 0.0;
  for (int64_t k = 0; k < keys; ++k) {
    const double m = 0.5 * (double{p[k]} + q[k]);
    sum += term(p[k], m) + term(q[k], m);
  }
  return std::clamp(0.5 * sum, 0.0, 1.0);
}

double mean_similarity(const MapDivergence& divergence, int64_t first, int64_t end) {
  double sum = 0.0;
  int64_t pairs = 0;
  for (int64_t a = first; a < end; ++a)
    for (int64_t b = a + 1; b < end; ++b, ++pairs) sum += 1.0 - divergence.between(a, b);
  return pairs > 0 ? sum / static_cast<double>(pairs) : 1.0;
}

}  // namespace

std::vector<reuse::Preset<SanOptions>> SanOptions::presets() {
  return {{"as_published", "the divergence of each row in bits", {}},
          {"as_coded",
           "the divergence of each head's whole map in nats",
           {.unit = "nats", .over = "heads"}}};
}

MapDivergence::MapDivergence(int64_t layers, const SanOptions& options)
    : layers_(layers),
      maps_(static_cast<size_t>(layers)),
      in_nats_(options.unit == "nats"),
      over_heads_(options.over == "heads"),
      sums_(static_cast<size_t>(layers * layers), 0.0) {}

model::LayerChoice MapDivergence::choose(model::LayerInput& /*input*/) {
  return {.show_map = true};
}

void MapDivergence::observe_map(int64_t layer, const kernels::MapView& map) {
  const auto* values = static_cast<const float*>(map.data);
  const int64_t rows = map.heads * map.rows;
  std::vector<float>& own = maps_.at(static_cast<size_t>(layer));
  own.assign(values, values + rows * map.keys);
  for (int64_t before = 0; before < layer; ++before) {
    const std::vector<float>& other = maps_[static_cast<size_t>(before)];
    REPRISE_CHECK(other.size() == own.size(), "maps of {} and {} weights in one step", other.size(),
                  own.size());
    double& sum = sums_[static_cast<size_t>(before * layers_ + layer)];
    double of_rows = 0;
    for (int64_t row = 0; row < rows; ++row)
      of_rows +=
          jensen_shannon(other.data() + row * map.keys, own.data() + row * map.keys, map.keys);
    sum += over_heads_ ? of_rows / static_cast<double>(map.rows) : of_rows;
  }
  if (layer == 0) compared_ += over_heads_ ? map.heads : rows;
}

double MapDivergence::between(int64_t a, int64_t b) const {
  if (compared_ == 0) raise("no maps were compared: run calibration prompts first");
  if (a > b) std::swap(a, b);
  REPRISE_CHECK(a >= 0 && b < layers_, "layers {} and {} of {}", a, b, layers_);
  if (a == b) return 0.0;
  const double bits = sums_[static_cast<size_t>(a * layers_ + b)] / static_cast<double>(compared_);
  return in_nats_ ? bits * std::numbers::ln2 : bits;
}

std::vector<int64_t> choose_blocks(const MapDivergence& divergence, const SanOptions& options) {
  std::vector<int64_t> first_layers = {0};
  for (int64_t layer = 1; layer < divergence.layers(); ++layer)
    if (mean_similarity(divergence, first_layers.back(), layer + 1) < options.similarity)
      first_layers.push_back(layer);
  return first_layers;
}

std::unique_ptr<model::LayerPolicy> make_san(std::vector<int64_t> first_layers, int64_t layers) {
  return std::make_unique<model::MapSharing>(std::move(first_layers), layers);
}

}  // namespace reprise::san
