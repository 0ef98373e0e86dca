// Writes a map store, as a model makes its maps.
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

// The file appears under its path with commit(), whole, or not at all; see AtomicFile. A writer
// that dies leaves nothing that MapStore opens.
class MapStoreWriter {
 public:
  // `budget_bytes`: most that the maps may take, 0: as much as the disk has. The table comes
  // on top. Throws Error for a format or a path that cannot be.
  MapStoreWriter(std::filesystem::path path, MapStoreIdentity identity, int64_t budget_bytes = 0);

  [[nodiscard]] const MapStoreIdentity& identity() const { return identity_; }
  // Bytes of a prompt's maps.
  [[nodiscard]] int64_t group_bytes(int64_t tokens) const;
  [[nodiscard]] int64_t used_bytes() const { return used_bytes_; }

  // Throws Error with need and have where the budget has no room for a prompt of so many tokens, or
  // for lengths that maps cannot have. Then its layers follow in order, and end_group(), which
  // returns the number of the group. A group that was begun and not ended is dropped by the next
  // begin_group() or by commit().
  void begin_group(int64_t tokens, uint64_t prompt_hash);
  void add_layer(const kernels::MapView& map);  // errors as encode_map()
  int64_t end_group();
  // The maps of a group of another store of the same identity (CHECK), checked. Errors as
  // begin_group(), and where they are damaged.
  int64_t copy_group(const MapStore& from, int64_t group);

  // The file is on the disk under its name when this returns. Once, and the last call.
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
  MapGroup open_;                      // the group under way; 0 tokens: none
  std::vector<uint64_t> open_hashes_;  // of its layers so far
  std::vector<std::byte> layer_;       // one map as it is written
};

// Which groups of a store stay so that new ones of `new_bytes` have room within `budget_bytes`:
// those used most, the younger of equals; ascending. `uses` [groups]. Throws Error with need and
// have where the new ones alone have no room.
std::vector<int64_t> groups_to_keep(const MapStore& store, std::span<const int64_t> uses,
                                    int64_t new_bytes, int64_t budget_bytes);

}  // namespace reprise::attn_cache
