// The books of a segment store: which segments lie in which tier, and which of them go first. Not
// thread-safe: the store guards them.
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

// A segment in memory of its own or in a mapped file. Whoever shares one may read it.
struct Resident {
  // Counts its bytes in `counter` for as long as it lives, and locks them for copies to the
  // runtime's device where there is one.
  Resident(SegmentBuffer segment, std::shared_ptr<std::atomic<int64_t>> counter,
           const std::shared_ptr<DeviceRuntime>& runtime);
  explicit Resident(SegmentFile opened);
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;
  ~Resident();

  std::optional<SegmentBuffer> buffer;
  HostLock keys_lock, values_lock;  // of the buffer's
  std::optional<SegmentFile> file;
  std::shared_ptr<std::atomic<int64_t>> host_bytes;  // of all residents of the store
};

struct Entry {
  std::shared_ptr<const Resident> host;  // null: not in the host tier
  // Made from the file and not in the host tier, while somebody holds it.
  std::weak_ptr<const Resident> opened;
  int64_t state_bytes = 0;  // of its keys and values in memory
  int64_t file_bytes = 0;   // 0: not in the disk tier
  double cost_s = 0;
  EvictionRank host_rank, disk_rank;
  std::optional<FileStamp> verified;  // of its file, when all of it was checked
  uint64_t version = 0;               // another one whenever other states may be meant
  std::optional<std::chrono::steady_clock::time_point> marked;  // when the file's use was noted

  // Whether nobody but the store has it.
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

  // The entry of a key, with what another process may have put; null if there is none. Throws Error
  // where there is a file, but no sound one.
  Entry* find(const SegmentKey& key);
  void count_use(Entry& entry);
  // Another version of the key's states begins.
  void begin_version(Entry& entry) { entry.version = ++versions_; }
  // An entry in neither tier is no entry.
  void erase_if_empty(const SegmentKey& key);

  // Whether `bytes` more fit, at the price of segments that nobody holds and that are none of
  // `keep`.
  [[nodiscard]] bool can_make_host_room(int64_t bytes, const Keys& keep) const;
  // Makes that room. Drops nothing where that would not do.
  bool make_host_room(int64_t bytes, const Keys& keep);
  void enter_host(Entry& entry, std::shared_ptr<const Resident> resident);
  void drop_host(Entry& entry);

  // The segments whose files go so that `bytes` more fit, first those that go first; none where
  // even that would not do.
  [[nodiscard]] std::optional<std::vector<SegmentKey>> disk_victims(int64_t bytes,
                                                                    const SegmentKey& keep) const;
  void evict_file(const SegmentKey& key);
  // A file that was written or found.
  void enter_file(Entry& entry, int64_t file_bytes);
  // It is gone.
  void forget_file(Entry& entry);
  // Removes it.
  void drop_file(const SegmentKey& key, Entry& entry);
  // Takes over what other processes have done to the folder. Returns sentences about files that are
  // no sound segments.
  std::vector<std::string> synchronize(const StoreListing& listing);

  std::map<SegmentKey, Entry> entries;
  SegmentStoreStats stats;  // its host_bytes is not kept
  const std::shared_ptr<std::atomic<int64_t>> host_bytes =
      std::make_shared<std::atomic<int64_t>>(0);

 private:
  Entry& adopt(const SegmentFile& file);
  // Among the entries for which `may_go` holds the one that goes first, or end().
  template <typename MayGo>
  std::map<SegmentKey, Entry>::iterator first_to_go(EvictionRank Entry::*rank, MayGo&& may_go);

  SegmentStoreOptions options_;
  EvictionOrder host_order_, disk_order_;
  uint64_t versions_ = 0;
};

}  // namespace reprise::kv::detail
