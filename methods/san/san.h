// SAN (Xiao et al., 2019): blocks of neighbouring layers share an attention map. The similarity of
// the layers' maps determines the blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/model/network/layer_policy.h"
#include "core/reuse/options.h"

namespace reprise::san {

struct SanOptions {
  // Least mean similarity of the maps in a block. AttnCache's paper does not give the value of its
  // comparison; Xiao et al. choose it on a validation set.
  double similarity = 0.85;

  void visit(reuse::OptionVisitor& visitor) {
    visitor.real({"similarity", "", "least mean similarity of the maps of a block, 1 - divergence"},
                 {0.0, 1.0}, similarity);
  }
};

// Compares the attention maps of all layers, one step (a whole calibration prompt) at a time. All
// layers compute, by the slow path that shows maps.
class MapDivergence final : public model::LayerPolicy {
 public:
  explicit MapDivergence(int64_t layers);

  model::LayerChoice choose(model::LayerInput& input) override;
  void observe_map(int64_t layer, const kernels::MapView& map) override;

  // Jensen-Shannon divergence of two layers' maps in bits (0 to 1), averaged over rows, heads and
  // prompts. Throws Error if no prompt has run.
  [[nodiscard]] double between(int64_t a, int64_t b) const;
  [[nodiscard]] int64_t layers() const { return layers_; }

 private:
  int64_t layers_;
  std::vector<std::vector<float>> maps_;  // [layers][heads, rows, keys] of the current step
  std::vector<double> sums_;              // [layers, layers] sums of divergences, a < b
  int64_t rows_ = 0;                      // number of map rows compared: heads * rows, summed
};

// Returns the first layer of each block. A block takes in the next layer as long as the mean
// similarity (1 - divergence) over all pairs of its layers is at least options.similarity.
// [Xiao et al. §3.2]
std::vector<int64_t> choose_blocks(const MapDivergence& divergence, const SanOptions& options);

std::unique_ptr<model::LayerPolicy> make_san(std::vector<int64_t> first_layers, int64_t layers);

}  // namespace reprise::san
