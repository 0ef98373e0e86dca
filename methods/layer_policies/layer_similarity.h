// Measures how much each layer changes the residual stream: the cosine of its input and output.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/network/layer_policy.h"

namespace reprise::model {

// Mean cosines of one layer over all rows of all steps so far.
struct LayerCosine {
  double attention = 1;  // cosine of the block's input x and x + attention(norm(x))
  double block = 1;      // cosine of the block's input and output
};

// Computes every layer and measures it. AttnDrop and BlockDrop skip the layers that change little.
// [He et al. 2024, "What matters in transformers?", §3]
class LayerSimilarity final : public LayerPolicy {
 public:
  explicit LayerSimilarity(int64_t layers);

  LayerChoice choose(LayerInput& input) override;
  [[nodiscard]] bool reads_residual() const override { return true; }
  void passed(int64_t layer, BlockPoint point, const TensorView& residual) override;

  // The cosines, [layers]. Throws Error naming the first layer without a measured row.
  [[nodiscard]] std::vector<LayerCosine> layers() const;

 private:
  struct Sums {
    double attention = 0, block = 0;
    int64_t attention_rows = 0, block_rows = 0;
  };
  std::vector<Sums> sums_;
  std::vector<float> input_;  // [rows, hidden]  input of the current layer
};

// Returns the `count` layers with the largest cosines, in ascending order of layers. Of layers with
// equal cosines it takes the later ones. Throws Error if there are fewer than `count` layers.
std::vector<int64_t> most_similar_layers(std::span<const double> cosines, int64_t count);

}  // namespace reprise::model
