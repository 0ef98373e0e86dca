// How much each layer changes what passes through it: the cosine of its input and its output.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/network/layer_policy.h"

namespace reprise::model {

// Means over all rows of all steps so far.
struct LayerCosine {
  double attention = 1;  // of the block's input x and x + attention(norm(x))
  double block = 1;      // of the block's input and output
};

// Lets every layer compute and measures it. Layers that change little are left out by AttnDrop and
// BlockDrop. [He et al. 2024, "What matters in transformers?", §3]  Steps must want the hidden
// states of all of their rows, else the last layer's output is not computed: an Error.
class LayerSimilarity final : public LayerPolicy {
 public:
  explicit LayerSimilarity(int64_t layers);

  LayerChoice choose(LayerInput& input) override;
  void passed(int64_t layer, BlockPoint point, const TensorView& residual) override;

  // [layers]. Throws Error where no step has run.
  [[nodiscard]] std::vector<LayerCosine> layers() const;

 private:
  struct Sums {
    double attention = 0, block = 0;
    int64_t rows = 0;
  };
  std::vector<Sums> sums_;
  std::vector<float> input_;  // [rows, hidden] of the layer under way
};

// The `count` layers with the largest cosines, ascending; of equals the later ones. Throws Error
// where there are not so many.
std::vector<int64_t> most_similar_layers(std::span<const double> cosines, int64_t count);

}  // namespace reprise::model
