// Feature vectors of stored prompts, and the indices that find the vector nearest to a query.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
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

// The indices of a database, and the ids of the maps and the projector that their vectors come
// from. Immutable.
class FeatureIndex {
 public:
  struct Settings {
    std::string store;      // MapStore::id() of the entries' maps
    std::string projector;  // fingerprint of the projector
    bool by_layer = true;
    bool by_length = false;
  };

  // Makes the indices. `tokens` [groups] has the length in tokens of each group's prompt.
  FeatureIndex(Settings settings, const IndexOptions& options, const FeatureSet& features,
               std::span<const int64_t> tokens);

  // Writes the arguments of the constructor to a file, for load(). The file format: 8 bytes
  // "RPRVEC2\n", u64 size of a JSON text in bytes, u64 XXH3 of everything that follows, the text
  // with settings, options and lengths, the entries, and the vectors.
  static void write(const std::filesystem::path& path, const Settings& settings,
                    const IndexOptions& options, const FeatureSet& features,
                    std::span<const int64_t> tokens);
  // Reads a file of write() and builds its indices again. (FAISS could read its own index files,
  // but does not check them.) Throws Error naming the path and the fault.
  static FeatureIndex load(const std::filesystem::path& path);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  // The index for a layer and length; null if no stored vector has both.
  [[nodiscard]] const VectorIndex* find(int64_t layer, int64_t tokens) const;
  [[nodiscard]] int64_t entries() const;              // number of vectors in all indices
  [[nodiscard]] std::vector<int64_t> layers() const;  // layers that have vectors, ascending
  // Throws Error, naming `source`, if an entry refers to a group or layer that a store of this size
  // does not have.
  void require_entries_within(int64_t groups, int64_t layers, const std::string& source) const;

 private:
  explicit FeatureIndex(Settings settings) : settings_(std::move(settings)) {}

  Settings settings_;
  std::map<IndexKey, VectorIndex> indices_;
};

}  // namespace reprise::attn_cache
