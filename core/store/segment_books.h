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

// The states of a segment, in their own memory or in a mapped file. Threads that share it may read
// it at any time.
struct Resident {
  // Adds the segment's bytes to `counter` for its lifetime. If `runtime` is not null, locks the
  // memory for copies to its device.
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
  // The opened file, as long as a handle holds it and the segment is not in the host tier.
  std::weak_ptr<const Resident> opened;
  int64_t state_bytes = 0;  // bytes of its keys and values in memory
  int64_t file_bytes = 0;   // 0: not in the disk tier
  double cost_s = 0;
  EvictionRank host_rank, disk_rank;
  // Stamp of the file at the time when its whole content was checked.
  std::optional<FileStamp> verified;
  uint64_t version = 0;  // changes whenever the states may have changed
  // When a use of the file was last recorded on disk.
  std::optional<std::chrono::steady_clock::time_point> marked;

  // True if only the store itself holds the segment.
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

  // Returns the entry of a key, including one that another process has put; null if there is none.
  // Throws Error if the key's file is damaged.
  Entry* find(const SegmentKey& key);
  void count_use(Entry& entry);
  // Gives the entry a new version. Called when the states of its key may have changed.
  void begin_version(Entry& entry) { entry.version = ++versions_; }
  // Erases the entry of `key` if it is in neither the host nor the disk tier.
  void erase_if_empty(const SegmentKey& key);

  // True if `bytes` more would fit into the host tier after evicting segments that no handle holds
  // and that are not in `keep`.
  [[nodiscard]] bool can_make_host_room(int64_t bytes, const Keys& keep) const;
  // Evicts segments from the host tier until `bytes` more fit. If that is impossible, evicts
  // nothing and returns false.
  bool make_host_room(int64_t bytes, const Keys& keep);
  void enter_host(Entry& entry, std::shared_ptr<const Resident> resident);
  void drop_host(Entry& entry);

  // Returns the segments other than `keep` whose files must be evicted so that `bytes` more fit on
  // disk, lowest rank first. Returns nullopt if evicting all files that no handle holds would not
  // make enough room.
  [[nodiscard]] std::optional<std::vector<SegmentKey>> disk_victims(int64_t bytes,
                                                                    const SegmentKey& keep) const;
  void evict_file(const SegmentKey& key);
  // Records a file that was written, or found on disk, in the entry.
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
  // Returns the entry with the lowest rank among those for which `may_go` is true, or end() if
  // there is none.
  template <typename MayGo>
  std::map<SegmentKey, Entry>::iterator first_to_go(EvictionRank Entry::*rank, MayGo&& may_go);

  SegmentStoreOptions options_;
  EvictionOrder host_order_, disk_order_;
  uint64_t versions_ = 0;
};

}  // namespace reprise::kv::detail
