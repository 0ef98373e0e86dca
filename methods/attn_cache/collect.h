// Fills a database: runs prompts, and keeps their maps and the projector's inputs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/model/network/layer_policy.h"
#include "methods/attn_cache/database.h"
#include "methods/attn_cache/map_store_writer.h"

namespace reprise::attn_cache {

// A function that computes one whole prompt in a step of its own, with `policy`. Whoever
// makes the function chooses model, cache and output.
using RunPrompt = std::function<void(std::span<const int32_t> ids, model::LayerPolicy& policy)>;

// Writes the attention maps of prompts, one prompt after another. All layers compute on the slow
// path, which passes their attention maps to observe_map(). If an earlier policy of a chain skips a
// layer, that layer's map is written as zeros.
class Collector final : public model::LayerPolicy {
 public:
  // Takes samples in the layers `sampled`. `writer` must outlive the Collector.
  Collector(const ProjectorShape& shape, std::vector<int64_t> sampled, MapStoreWriter& writer);

  // Call begin() before and end() after the step that computes the prompt `ids`. Both throw as
  // MapStoreWriter does. choose() throws Error unless the step computes the whole prompt and
  // nothing else.
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
  int64_t tokens_ = 0;               // tokens of the current prompt
  std::vector<IndexEntry> entries_;  // entries of the current prompt; end() sets their group
};

// Steps one and three of [AttnCache figure 4]: writes the maps of all prompts to a file in `folder`
// and returns the samples for training and for a Database. Throws Error if the maps do not fit into
// options.budget_mib, and as MapStoreWriter does.
SampleSet collect(const std::filesystem::path& folder, const ModelFacts& model,
                  const AttnCacheOptions& options, std::span<const std::vector<int32_t>> prompts,
                  const RunPrompt& run);

}  // namespace reprise::attn_cache
