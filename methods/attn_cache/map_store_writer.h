// Writes a map store while a model computes the maps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "methods/attn_cache/map_store.h"

namespace reprise::attn_cache {

// commit() makes the complete file appear under its path; before that, nothing is there (see
// AtomicFile). A writer that dies leaves nothing that MapStore opens.
class MapStoreWriter {
 public:
  // Throws Error for an invalid format or path.
  MapStoreWriter(const std::filesystem::path& path, MapStoreIdentity identity);

  [[nodiscard]] const MapStoreIdentity& identity() const { return identity_; }
  // Size in bytes of the maps of a prompt.
  [[nodiscard]] int64_t group_bytes(int64_t tokens) const;

  // Begins a group. Call add_layer() for each layer in order, then end_group(), which returns the
  // group's number. The next begin_group() or commit() drops a group that was not ended.
  // begin_group() throws Error for a length that maps cannot have.
  void begin_group(int64_t tokens, uint64_t prompt_hash);
  void add_layer(const kernels::MapView& map);  // throws as encode_map()
  int64_t end_group();

  // Completes the file. When this returns, the file is on the disk under its name. Must be the last
  // call.
  void commit();

 private:
  void pad_to_page();

  MapStoreIdentity identity_;
  AtomicFile file_;
  std::vector<MapGroup> groups_;
  std::vector<uint64_t> hashes_;       // [groups, layers]
  MapGroup open_;                      // the current group; 0 tokens: none
  std::vector<uint64_t> open_hashes_;  // hashes of the current group's layers so far
  std::vector<std::byte> layer_;       // buffer for the bytes of one layer's map
};

}  // namespace reprise::attn_cache
