// Attention maps of many prompts in one file, mapped into memory and read in place.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mapped_file.h"
#include "methods/attn_cache/map_form.h"

namespace reprise::attn_cache {

// The format version that is written, and the newest that can be read.
inline constexpr int kMapStoreFormat = 1;

// The model and format of a store's maps. Maps of another model are never used: see
// require_model().
struct MapStoreIdentity {
  std::string model;  // core/model/checkpoint/fingerprint.h
  int64_t layers = 0;
  MapFormat format;

  bool operator==(const MapStoreIdentity&) const = default;
};

// The maps of all layers of one prompt.
struct MapGroup {
  int64_t tokens = 0;
  uint64_t prompt_hash = 0;  // hash_of_prompt() of the token ids
  uint64_t begin = 0;        // offset in bytes of layer 0 in the file
};

// XXH3 of the ids, by which a query is recognized as a stored prompt.
uint64_t hash_of_prompt(std::span<const int32_t> ids);

// Format 1, little-endian:
//   8 bytes   "RPRMAP1\n", then zeros to 4096 bytes
//   groups    one after another, each at a multiple of 4096 bytes: the maps of layers 0, 1, ... of
//             a prompt, so that neighbouring layers are read together; see map_form.h for their
//             layout. There may be unused bytes between groups.
//   table     JSON with model, layers, format and the number of groups; then, binary, for each
//             group tokens, prompt_hash and begin, and the XXH3 of each of its layers' maps
//   u64       begin of the table
//   u64       bytes of its JSON
//   u64       XXH3 of the table and of the two words above
//   8 bytes   "RPRMAPE\n"
// The table is at the end because maps are written while a model computes them, and together they
// may be larger than memory.
class MapStore {
 public:
  // Reads the table; maps are checked when they are used. Throws Error naming the path and the
  // fault: it is no map store, cut off, damaged, or of a newer format.
  explicit MapStore(std::filesystem::path path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const MapStoreIdentity& identity() const { return identity_; }
  [[nodiscard]] const std::vector<MapGroup>& groups() const { return groups_; }
  [[nodiscard]] int64_t bytes() const { return static_cast<int64_t>(map_.bytes().size()); }
  // The different lengths of the stored prompts in tokens, ascending.
  [[nodiscard]] std::vector<int64_t> lengths() const;
  // Throws Error naming both models if the store's maps come from another model (by fingerprint,
  // layers or heads).
  void require_model(const std::string& fingerprint, int64_t layers, int64_t heads) const;

  // A map in place, valid as long as the store. Call check_layers() first: the bytes of an
  // unchecked map may be damaged.
  [[nodiscard]] kernels::MapView map(int64_t group, int64_t layer) const;
  // The bytes of a map in the file.
  [[nodiscard]] std::span<const std::byte> layer_bytes(int64_t group, int64_t layer) const;
  // Throws Error naming path, group and layer if a map of layers [first, end) differs from what was
  // written. Reads a map at its first check; later checks of the map return at once. Thread-safe.
  void check_layers(int64_t group, int64_t first, int64_t end) const;
  void check_all() const;
  // Asks the system to begin reading maps of neighbouring layers. Returns at once.
  void fetch_layers(int64_t group, int64_t first, int64_t end) const;
  // Removes the pages of a group from this process' memory and marks its maps as unchecked, for
  // measurements that begin with a cold store.
  void release(int64_t group) const;

 private:
  enum class State : uint8_t { kUnknown, kSound, kDamaged };

  void read_table();
  void parse_text(std::string_view text);
  void read_groups(size_t at, size_t count, uint64_t table_begin);
  [[nodiscard]] size_t group_bytes(int64_t tokens) const;
  [[nodiscard]] size_t hash_index(int64_t group, int64_t layer) const;

  std::filesystem::path path_;
  MappedFile map_;
  MapStoreIdentity identity_;
  size_t group_count_ = 0;  // number of groups according to the table's JSON
  std::vector<MapGroup> groups_;
  std::vector<uint64_t> hashes_;                  // [groups, layers]
  std::unique_ptr<std::atomic<State>[]> states_;  // [groups, layers]
};

}  // namespace reprise::attn_cache
