// Writes a map store while a model computes the maps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/atomic_file.h"
#include "methods/attn_cache/map_store.h"

namespace reprise::attn_cache {

// commit() makes the complete file appear under its path; before that, nothing is there (see
// AtomicFile). A writer that dies leaves nothing that MapStore opens.
class MapStoreWriter {
 public:
  // `budget_bytes` bounds the size of all maps, not counting the table; 0: no limit. Throws Error
  // for an invalid format or path.
  MapStoreWriter(std::filesystem::path path, MapStoreIdentity identity, int64_t budget_bytes = 0);

  [[nodiscard]] const MapStoreIdentity& identity() const { return identity_; }
  // Size in bytes of the maps of a prompt.
  [[nodiscard]] int64_t group_bytes(int64_t tokens) const;
  [[nodiscard]] int64_t used_bytes() const { return used_bytes_; }

  // Begins a group. Call add_layer() for each layer in order, then end_group(), which returns the
  // group's number. The next begin_group() or commit() drops a group that was not ended.
  // begin_group() throws Error, naming both sizes, if the prompt's maps exceed the budget that is
  // left, and Error for a length that maps cannot have.
  void begin_group(int64_t tokens, uint64_t prompt_hash);
  void add_layer(const kernels::MapView& map);  // throws as encode_map()
  int64_t end_group();
  // Checks a group's maps in another store, copies them and returns the new group's number. Both
  // stores must have the same identity (CHECK). Throws as begin_group(), and Error if the maps are
  // damaged.
  int64_t copy_group(const MapStore& from, int64_t group);

  // Completes the file. When this returns, the file is on the disk under its name. Must be the last
  // call.
  void commit();

 private:
  void pad_to_page();
  void write_layer(std::span<const std::byte> bytes);

  std::filesystem::path path_;
  MapStoreIdentity identity_;
  int64_t budget_bytes_;
  AtomicFile file_;
  int64_t used_bytes_ = 0;
  std::vector<MapGroup> groups_;
  std::vector<uint64_t> hashes_;       // [groups, layers]
  MapGroup open_;                      // the current group; 0 tokens: none
  std::vector<uint64_t> open_hashes_;  // hashes of the current group's layers so far
  std::vector<std::byte> layer_;       // buffer for the bytes of one layer's map
};

// Chooses the groups of a store that stay when new groups of `new_bytes` have to fit into
// `budget_bytes` as well. Takes the most used groups first and, of equally used groups, the one
// with the higher number. `uses` [groups] counts the reuses. Returns group numbers, ascending.
// Throws Error with both sizes if the new groups alone do not fit.
std::vector<int64_t> groups_to_keep(const MapStore& store, std::span<const int64_t> uses,
                                    int64_t new_bytes, int64_t budget_bytes);

}  // namespace reprise::attn_cache
