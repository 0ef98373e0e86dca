#include "methods/attn_cache/database.h"

#include <span>

#include "core/base/error.h"

namespace reprise::attn_cache {

Database::Database(const std::filesystem::path& folder, const ModelFacts& model,
                   const Context& context)
    : maps_(folder / kMapsFile),
      index_(FeatureIndex::load(folder / kIndexFile)),
      projector_(Projector::load(folder / kProjectorFile, context)) {
  maps_.require_model(model.fingerprint, model.layers, model.heads);
  if (index_.settings().store != maps_.id())
    raise("{}: its index is of other maps than {}. Build the database again.", folder.string(),
          kMapsFile);
  index_.require_entries_within(std::ssize(maps_.groups()), maps_.identity().layers,
                                (folder / kIndexFile).string());
  if (index_.settings().projector != projector_.fingerprint())
    raise("{}: the vectors of its index were not made by its {}. Build the database again.",
          folder.string(), kProjectorFile);
  if (projector_.shape().hidden != model.hidden)
    raise_shape("{}: its projector takes {} hidden values, the model has {}", folder.string(),
                projector_.shape().hidden, model.hidden);
}

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

void write_index(const std::filesystem::path& folder, const AttnCacheOptions& options,
                 const FeatureSet& features, const Projector& projector) {
  const MapStore maps(folder / kMapsFile);
  std::vector<int64_t> tokens;
  for (const MapGroup& group : maps.groups()) tokens.push_back(group.tokens);
  projector.save(folder / kProjectorFile);
  FeatureIndex::write(folder / kIndexFile,
                      {.store = maps.id(),
                       .projector = projector.fingerprint(),
                       .by_layer = options.indexed_layers == "searched",
                       .by_length = options.lengths_kind() == Lengths::kSame},
                      options.index_options(), features, tokens);
}

}  // namespace reprise::attn_cache
