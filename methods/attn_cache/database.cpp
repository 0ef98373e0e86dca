#include "methods/attn_cache/database.h"

#include <span>
#include <utility>

#include "core/base/error.h"

namespace reprise::attn_cache {
namespace {

// Computes the vectors of all samples, one by one, so that a query equal to a sample gets the same
// vector bit for bit.
FeatureSet project_all(const SampleSet& samples, Projector& projector) {
  REPRISE_CHECK(samples.shape == projector.shape(), "samples of another shape");
  const auto inputs = static_cast<size_t>(samples.shape.inputs());
  const auto features = static_cast<size_t>(samples.shape.features);
  FeatureSet set{.dims = samples.shape.features, .vectors = {}, .entries = samples.entries};
  set.vectors.resize(samples.entries.size() * features);
  for (size_t i = 0; i < samples.entries.size(); ++i)
    projector.project_pooled(std::span(samples.x).subspan(i * inputs, inputs),
                             std::span(set.vectors).subspan(i * features, features));
  return set;
}

// The length in tokens of each group's prompt, [groups].
std::vector<int64_t> tokens_of(const MapStore& maps) {
  std::vector<int64_t> tokens;
  for (const MapGroup& group : maps.groups()) tokens.push_back(group.tokens);
  return tokens;
}

}  // namespace

Database::Database(const std::filesystem::path& folder, const ModelFacts& model,
                   const AttnCacheOptions& options, const SampleSet& samples, Projector projector)
    : maps_(folder / kMapsFile),
      projector_(std::move(projector)),
      index_({.by_layer = options.indexed_layers == "searched",
              .by_length = options.lengths_kind() == Lengths::kSame},
             options.index_options(), project_all(samples, projector_), tokens_of(maps_)) {
  maps_.require_model(model.fingerprint, model.layers, model.heads);
}

}  // namespace reprise::attn_cache
