// Bookkeeping of a segment store: which segments are in which tier, and which are evicted first.
// Not thread-safe: the store guards it.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/store/segment_store.h"
#include "core/store/store_directory.h"

namespace reprise::kv::detail {

// The states of a segment, in memory of their own or in a mapped file. May be read while it is
// shared.
struct Resident {
  // Counts the segment's bytes in `counter` while it lives. Locks them for copies to the device of
  // `runtime`, unless that is null.
  Resident(SegmentBuffer segment, std::shared_ptr<std::atomic<int64_t>> counter,
           const std::shared_ptr<DeviceRuntime>& runtime);
  explicit Resident(SegmentFile opened);
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;
  ~Resident();

  std::optional<SegmentBuffer> buffer;
  HostLock keys_lock, values_lock;  // locks on the buffer's memory
  std::optional<SegmentFile> file;
  std::shared_ptr<std::atomic<int64_t>> host_bytes;  // bytes of all residents of the store
};

struct Entry {
  std::shared_ptr<const Resident> host;  // null: not in the host tier
  // The opened file, while somebody holds it and the segment is not in the host tier.
  std::weak_ptr<const Resident> opened;
  int64_t state_bytes = 0;  // bytes of its keys and values in memory
  int64_t file_bytes = 0;   // 0: not in the disk tier
  double cost_s = 0;
  EvictionRank host_rank, disk_rank;
  std::optional<FileStamp> verified;  // stamp of the file when all of it was checked
  uint64_t version = 0;               // changes whenever the states may have changed
  // When the file's use was last recorded.
  std::optional<std::chrono::steady_clock::time_point> marked;

  // True if nobody but the store holds the segment.
  [[nodiscard]] bool is_free() const {
    return (host == nullptr || host.use_count() == 1) && opened.expired();
  }
};

using Keys = std::set<SegmentKey>;

class SegmentBooks {
 public:
  explicit SegmentBooks(const SegmentStoreOptions& options);

  [[nodiscard]] bool has_disk() const { return !options_.directory.empty(); }
  [[nodiscard]] std::filesystem::path path_of(const SegmentKey& key) const {
    return options_.directory / file_name_of(key);
  }

  // The entry of a key, including one that another process has put; null if there is none. Throws
  // Error if the key's file is damaged.
  Entry* find(const SegmentKey& key);
  void count_use(Entry& entry);
  // Gives the entry a new version: the key's states may have changed.
  void begin_version(Entry& entry) { entry.version = ++versions_; }
  // Erases the entry if it is in neither tier.
  void erase_if_empty(const SegmentKey& key);

  // True if `bytes` more would fit after evicting segments that nobody holds and that are not in
  // `keep`.
  [[nodiscard]] bool can_make_host_room(int64_t bytes, const Keys& keep) const;
  // Evicts until `bytes` more fit. If that is impossible, evicts nothing and returns false.
  bool make_host_room(int64_t bytes, const Keys& keep);
  void enter_host(Entry& entry, std::shared_ptr<const Resident> resident);
  void drop_host(Entry& entry);

  // The segments whose files must be evicted so that `bytes` more fit, lowest rank first. nullopt
  // if evicting all files that nobody holds would not make enough room.
  [[nodiscard]] std::optional<std::vector<SegmentKey>> disk_victims(int64_t bytes,
                                                                    const SegmentKey& keep) const;
  void evict_file(const SegmentKey& key);
  // Records a file that was written or found.
  void enter_file(Entry& entry, int64_t file_bytes);
  // Records that the entry's file no longer exists.
  void forget_file(Entry& entry);
  // Removes the entry's file.
  void drop_file(const SegmentKey& key, Entry& entry);
  // Brings the entries up to date with files that other processes wrote or removed. Returns a
  // sentence for each damaged file.
  std::vector<std::string> synchronize(const StoreListing& listing);

  std::map<SegmentKey, Entry> entries;
  SegmentStoreStats stats;  // except its host_bytes
  const std::shared_ptr<std::atomic<int64_t>> host_bytes =
      std::make_shared<std::atomic<int64_t>>(0);

 private:
  Entry& adopt(const SegmentFile& file);
  // The entry with the lowest rank among those for which `may_go` holds, or end().
  template <typename MayGo>
  std::map<SegmentKey, Entry>::iterator first_to_go(EvictionRank Entry::*rank, MayGo&& may_go);

  SegmentStoreOptions options_;
  EvictionOrder host_order_, disk_order_;
  uint64_t versions_ = 0;
};

}  // namespace reprise::kv::detail
