// SAN (Xiao et al., 2019): blocks of neighbouring layers share an attention map, and how long the
// blocks are follows from how alike the layers' maps are.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/model/network/layer_policy.h"
#include "core/reuse/options.h"

namespace reprise::san {

struct SanOptions {
  // Similarity that the layers of a block have on average. AttnCache's paper does not give the one
  // of its comparison; Xiao et al. choose it on a validation set.
  double similarity = 0.85;

  void visit(reuse::OptionVisitor& visitor) {
    visitor.real({"similarity", "", "least mean similarity of the maps of a block, 1 - divergence"},
                 {0.0, 1.0}, similarity);
  }
};

// Compares the maps of all layers of calibration prompts, one whole prompt or step after another.
// All layers compute, by the slow path that shows maps.
class MapDivergence final : public model::LayerPolicy {
 public:
  explicit MapDivergence(int64_t layers);

  model::LayerChoice choose(model::LayerInput& input) override;
  void observe_map(int64_t layer, const kernels::MapView& map) override;

  // The Jensen-Shannon divergence of two layers' maps, in bits (0 to 1), the mean over rows, heads
  // and prompts. Throws Error where no prompt has run.
  [[nodiscard]] double between(int64_t a, int64_t b) const;
  [[nodiscard]] int64_t layers() const { return layers_; }

 private:
  int64_t layers_;
  std::vector<std::vector<float>> maps_;  // [layers] of the step under way, [heads, rows, keys]
  std::vector<double> sums_;              // [layers, layers], a < b
  int64_t rows_ = 0;                      // rows of heads so far
};

// The first layers of the blocks. From the first layer on, a block takes in the next one as long as
// the mean similarity, 1 - divergence, of all pairs of its layers stays at least
// options.similarity. [Xiao et al. §3.2]
std::vector<int64_t> choose_blocks(const MapDivergence& divergence, const SanOptions& options);

std::unique_ptr<model::LayerPolicy> make_san(std::vector<int64_t> first_layers, int64_t layers);

}  // namespace reprise::san
