// Feature vectors of stored prompts, and the indices that find the vector nearest to a query.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "methods/attn_cache/vector_index.h"

namespace reprise::attn_cache {

// Row i of vectors [entries, dims] f32 belongs to entries[i].
struct FeatureSet {
  int64_t dims = 0;
  std::vector<float> vectors;
  std::vector<IndexEntry> entries;
};

// The key of the index that holds a vector: a layer, or -1 for all layers, and a length in tokens,
// or -1 for all lengths.
struct IndexKey {
  int64_t layer = -1, tokens = -1;
  auto operator<=>(const IndexKey&) const = default;
};

// The indices of a database. Immutable.
class FeatureIndex {
 public:
  struct Settings {
    bool by_layer = true;    // one index for each layer, or one for all layers
    bool by_length = false;  // one index for each length, or one for all lengths
  };

  // `tokens` [groups] has the length in tokens of each group's prompt. Throws as VectorIndex.
  FeatureIndex(const Settings& settings, const IndexOptions& options, const FeatureSet& features,
               std::span<const int64_t> tokens);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  // The index for a layer and length; null if no stored vector has both.
  [[nodiscard]] const VectorIndex* find(int64_t layer, int64_t tokens) const;
  [[nodiscard]] int64_t entries() const;              // number of vectors in all indices
  [[nodiscard]] std::vector<int64_t> layers() const;  // layers that have vectors, ascending

 private:
  Settings settings_;
  std::map<IndexKey, VectorIndex> indices_;
};

}  // namespace reprise::attn_cache
