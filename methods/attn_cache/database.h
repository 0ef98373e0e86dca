// A folder with the data that AttnCache reuses: stored maps, the vectors that find them, and the
// projector that makes the vectors of prompts.
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

// Names of the files in the folder.
inline constexpr const char* kMapsFile = "prompts.maps";
inline constexpr const char* kIndexFile = "prompts.index";
inline constexpr const char* kProjectorFile = "projector.safetensors";

// The facts about a model by which its maps are recognized.
struct ModelFacts {
  std::string fingerprint;  // core/model/checkpoint/fingerprint.h
  int64_t layers = 0, heads = 0, hidden = 0;
  bool is_causal = true;
  // True if some rows of a step may reuse maps while others compute. False for models whose scores
  // have relative-position terms.
  bool can_mix = true;
};

class Database {
 public:
  // Opens a folder. Throws Error naming the file and the fault: the file is missing, damaged or of
  // another model, or the vectors come from other maps or from another projector.
  Database(const std::filesystem::path& folder, const ModelFacts& model, const Context& context);

  [[nodiscard]] const MapStore& maps() const { return maps_; }
  [[nodiscard]] const FeatureIndex& index() const { return index_; }
  // The projector, which one thread at a time may use.
  [[nodiscard]] Projector& projector() { return projector_; }

 private:
  MapStore maps_;
  FeatureIndex index_;
  Projector projector_;
};

// The inputs x of the projector that collect() keeps, one row for each prompt and each layer in the
// index. Row i of x [entries, shape.inputs()] f32 belongs to entries[i].
struct SampleSet {
  ProjectorShape shape;
  std::vector<float> x;
  std::vector<IndexEntry> entries;
};

// Computes the vectors of all samples, one by one, so that a query equal to a sample gets the same
// vector bit for bit.
FeatureSet project_all(const SampleSet& samples, Projector& projector);

// Writes the files of index and projector for the committed maps of `folder`. `features` has the
// feature vectors of these maps. An old file stays until its replacement is complete; Database
// refuses a folder that mixes old and new files. An Error on writing names the file.
void write_index(const std::filesystem::path& folder, const AttnCacheOptions& options,
                 const FeatureSet& features, const Projector& projector);

}  // namespace reprise::attn_cache
