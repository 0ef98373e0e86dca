// How much each layer changes what passes through it: the cosine of its input and its output.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/network/layer_policy.h"

namespace reprise::model {

// Means over the rows of all steps so far: all of them, but of the last layer those alone whose
// output was wanted.
struct LayerCosine {
  double attention = 1;  // of the block's input x and x + attention(norm(x))
  double block = 1;      // of the block's input and output
};

// Lets every layer compute and measures it. Layers that change little are left out by AttnDrop and
// BlockDrop. [He et al. 2024, "What matters in transformers?", §3]
class LayerSimilarity final : public LayerPolicy {
 public:
  explicit LayerSimilarity(int64_t layers);

  LayerChoice choose(LayerInput& input) override;
  [[nodiscard]] bool reads_residual() const override { return true; }
  void passed(int64_t layer, BlockPoint point, const TensorView& residual) override;

  // [layers]. Throws Error, naming the layer, where there was no row to measure.
  [[nodiscard]] std::vector<LayerCosine> layers() const;

 private:
  struct Sums {
    double attention = 0, block = 0;
    int64_t attention_rows = 0, block_rows = 0;
  };
  std::vector<Sums> sums_;
  // Of the layer under way: its input [rows, hidden], and which of its rows a last layer computes.
  std::vector<float> input_;
  std::vector<int32_t> wanted_;
};

// The `count` layers with the largest cosines, ascending; of equals the later ones. Throws Error
// where there are not so many.
std::vector<int64_t> most_similar_layers(std::span<const double> cosines, int64_t count);

}  // namespace reprise::model
