// Fills a database: runs prompts, and keeps their maps and what their hidden states become.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/model/network/layer_policy.h"
#include "methods/attn_cache/database.h"

namespace reprise::attn_cache {

// Computes one prompt, whole, in a step of its own, with the policy. Which model, cache and output
// is its maker's affair.
using RunPrompt = std::function<void(std::span<const int32_t> ids, model::LayerPolicy& policy)>;

// Keeps the maps of one prompt after another. All layers compute; maps take the slow path that
// shows them. Of a layer that a policy before it in a chain leaves out, a map of zeros is kept.
class Collector final : public model::LayerPolicy {
 public:
  // Samples are taken in the layers `sampled`. `writer` must outlive this.
  Collector(const ProjectorShape& shape, std::vector<int64_t> sampled, MapStoreWriter& writer);

  // Around the step of a prompt. Errors as MapStoreWriter's, and where the step was not the whole
  // prompt alone.
  void begin(std::span<const int32_t> ids);
  void end();

  model::LayerChoice choose(model::LayerInput& input) override;
  void observe_map(int64_t layer, const kernels::MapView& map) override;
  void overruled(int64_t layer) override;

  [[nodiscard]] SampleSet take_samples() { return std::move(samples_); }

 private:
  std::vector<int64_t> sampled_;
  MapStoreWriter& writer_;
  SampleSet samples_;
  int64_t tokens_ = 0;               // of the prompt under way
  std::vector<IndexEntry> entries_;  // of it; its group's number is known at its end
};

// Steps one and three of [AttnCache figure 4]: the maps of all prompts go to `folder` (made where
// it is missing), and samples come back, for training and project_all(). With a budget and
// when_full "evict", groups of `older` (may be null; of the same maps' form) stay as far as they
// have room, those that `uses` says were used most; `kept` gets their vectors. Throws Error where
// the budget has no room, and as the writer does.
SampleSet collect(const std::filesystem::path& folder, const ModelFacts& model,
                  const AttnCacheOptions& options, std::span<const std::vector<int32_t>> prompts,
                  const RunPrompt& run, const Database* older = nullptr,
                  std::span<const int64_t> uses = {}, FeatureSet* kept = nullptr);

}  // namespace reprise::attn_cache
