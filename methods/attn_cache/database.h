// A folder with all that AttnCache reuses from: stored maps, the vectors that find them, and the
// projector that makes vectors of prompts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "methods/attn_cache/feature_set.h"
#include "methods/attn_cache/map_store.h"
#include "methods/attn_cache/map_store_writer.h"
#include "methods/attn_cache/options.h"
#include "methods/attn_cache/projector.h"

namespace reprise::attn_cache {

// Files of the folder.
inline constexpr const char* kMapsFile = "prompts.maps";
inline constexpr const char* kIndexFile = "prompts.index";
inline constexpr const char* kProjectorFile = "projector.safetensors";

// Which model's maps these are.
struct ModelFacts {
  std::string fingerprint;  // core/model/checkpoint/fingerprint.h
  int64_t layers = 0, heads = 0, hidden = 0;
  bool is_causal = true;
};

class Database {
 public:
  // Opens a folder. Throws Error naming the file and what is wrong: missing, damaged, of another
  // model, vectors of other maps or by another projector.
  Database(const std::filesystem::path& folder, const ModelFacts& model, const Context& context);

  [[nodiscard]] const MapStore& maps() const { return maps_; }
  [[nodiscard]] const FeatureIndex& index() const { return index_; }
  // For one thread at a time.
  [[nodiscard]] Projector& projector() { return projector_; }
  // Whether a prompt's maps are among those stored: a query that is tells nothing of accuracy.
  [[nodiscard]] bool holds(std::span<const int32_t> ids) const;

 private:
  MapStore maps_;
  FeatureIndex index_;
  Projector projector_;
};

// What collecting keeps of hidden states: x, the projector's input, of each prompt and layer that
// will be in the index. Row i of x [entries, shape.inputs()] f32 belongs to entries[i].
struct SampleSet {
  ProjectorShape shape;
  std::vector<float> x;
  std::vector<IndexEntry> entries;
};

// Vectors of all samples, each computed by itself: a query that equals a sample then has its
// vector, bit by bit.
FeatureSet project_all(const SampleSet& samples, Projector& projector);

// Writes index and projector beside the committed maps of a folder, whose entries `features` has.
// What they replace stays until each new file is whole; a folder with files of both is refused by
// Database. Errors of the disk name the file.
void write_index(const std::filesystem::path& folder, const AttnCacheOptions& options,
                 const FeatureSet& features, const Projector& projector);

// Copies groups of a database, ascending, and their vectors, renumbered, into a new one.
FeatureSet copy_groups(const Database& from, std::span<const int64_t> groups, MapStoreWriter& into);

}  // namespace reprise::attn_cache
