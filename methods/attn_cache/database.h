// The data that AttnCache reuses: stored maps, the vectors that find them, and the projector that
// makes the vectors of prompts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "methods/attn_cache/feature_set.h"
#include "methods/attn_cache/map_store.h"
#include "methods/attn_cache/options.h"
#include "methods/attn_cache/projector.h"

namespace reprise::attn_cache {

// Names of the files that hold the stored maps and a trained projector.
inline constexpr const char* kMapsFile = "prompts.maps";
inline constexpr const char* kProjectorFile = "projector.safetensors";

// The facts about a model that AttnCache needs. Maps belong to a model if fingerprint, layers and
// heads agree.
struct ModelFacts {
  std::string fingerprint;  // core/model/checkpoint/fingerprint.h
  int64_t layers = 0, heads = 0, hidden = 0;
  bool is_causal = true;
  // True if some rows of a step may reuse maps while others compute. False for models on a device,
  // and for models whose scores have relative-position terms.
  bool can_mix = true;
};

// The inputs x of the projector that collect() keeps, one row for each prompt and each layer in the
// index. Row i of x [entries, shape.inputs()] f32 belongs to entries[i].
struct SampleSet {
  ProjectorShape shape;
  std::vector<float> x;
  std::vector<IndexEntry> entries;
};

class Database {
 public:
  // Opens the maps in `folder` and indexes the vectors that `projector` makes of `samples`, which
  // collect() returned with these maps. Throws Error if the maps are missing, damaged or of another
  // model, or a vector is not finite.
  Database(const std::filesystem::path& folder, const ModelFacts& model,
           const AttnCacheOptions& options, const SampleSet& samples, Projector projector);

  [[nodiscard]] const MapStore& maps() const { return maps_; }
  [[nodiscard]] const FeatureIndex& index() const { return index_; }
  // The projector, which one thread at a time may use.
  [[nodiscard]] Projector& projector() { return projector_; }

 private:
  MapStore maps_;
  Projector projector_;
  FeatureIndex index_;
};

}  // namespace reprise::attn_cache
