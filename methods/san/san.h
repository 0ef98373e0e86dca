// SAN (Xiao et al., 2019): blocks of neighbouring layers share an attention map. The similarity of
// the layers' maps determines the blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/model/network/layer_policy.h"
#include "core/reuse/options.h"

namespace reprise::san {

struct SanOptions {
  // Least mean similarity of the maps in a block. AttnCache's paper compares with SAN but does not
  // give the value; Xiao et al. choose it on a validation set.
  double similarity = 0.85;
  std::string unit = "bits";  // or "nats"
  std::string over = "rows";  // or "heads"

  void visit(reuse::OptionVisitor& visitor) {
    visitor.real({"similarity", "", "least mean similarity of the maps of a block, 1 - divergence"},
                 {0.0, 1.0}, similarity);
    visitor.word({"unit", "", "of the divergence: bits (0 to 1), or nats (0 to 0.69)"},
                 {"bits", "nats"}, unit);
    visitor.word({"over", "",
                  "what is compared as one distribution: each row of a map, or a head's whole map. "
                  "rows: long prompts weigh more; heads: all prompts weigh the same"},
                 {"rows", "heads"}, over);
  }
  static std::vector<reuse::Preset<SanOptions>> presets();
};

// Compares the attention maps of all layers, one step (a whole calibration prompt) at a time. All
// layers compute on the slow path, which passes their maps to observe_map().
class MapDivergence final : public model::LayerPolicy {
 public:
  explicit MapDivergence(int64_t layers, const SanOptions& options = {});

  model::LayerChoice choose(model::LayerInput& input) override;
  void observe_map(int64_t layer, const kernels::MapView& map) override;

  // Jensen-Shannon divergence, in options.unit (bits or nats), of the attention maps of layers a
  // and b. options.over says whether each row or each head of a map is one distribution; the result
  // is the mean over the distributions of all prompts. Throws Error if no prompt has run.
  [[nodiscard]] double between(int64_t a, int64_t b) const;
  [[nodiscard]] int64_t layers() const { return layers_; }

 private:
  int64_t layers_;
  std::vector<std::vector<float>> maps_;  // [layers][heads, rows, keys] of the current step
  bool in_nats_, over_heads_;
  std::vector<double> sums_;  // [layers, layers] sums of divergences in bits, a < b
  int64_t compared_ = 0;      // rows (or heads) compared for each pair of layers, over all prompts
};

// Returns the first layer of each block. A block takes in the next layer as long as the mean
// similarity (1 - divergence) over all pairs of its layers is at least options.similarity.
// [Xiao et al. §3.2]
std::vector<int64_t> choose_blocks(const MapDivergence& divergence, const SanOptions& options);

std::unique_ptr<model::LayerPolicy> make_san(std::vector<int64_t> first_layers, int64_t layers);

}  // namespace reprise::san
