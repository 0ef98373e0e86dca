// A store of segments by key, in host memory and on disk. Segments outlive the requests, engines
// and processes that made them.
//
// The store has a host tier, a disk tier or both. put() writes to the disk tier, and to the host
// tier if the budget allows. A full tier evicts segments that no handle holds, in the order of the
// eviction policy. Without a disk tier, evicted segments are lost.
//
// Keys are compared as a whole: a segment of another model, tokenizer, schema or dtype is never
// returned. After a restart, the store reads each segment's cost and last use (to the minute) from
// its file.
//
// Thread-safe. Several processes may use one directory: files are written atomically, and one
// process writes at a time. A process finds segments of other processes when it asks for their keys
// or makes room. A disk error names the path and leaves the store as it was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device_runtime.h"
#include "core/store/eviction.h"
#include "core/store/segment_buffer.h"
#include "core/store/segment_file.h"
#include "core/store/segment_key.h"

namespace reprise::kv {

// The place of a handle's states: memory, or a mapped file.
enum class Tier : uint8_t { kHost, kDisk };

struct SegmentStoreOptions {
  // Upper bound on the bytes of segments in memory; 0: no host tier.
  int64_t host_bytes = 0;
  std::filesystem::path directory;  // folder of the disk tier, made if missing; "": no disk tier
  // Upper bound on the bytes of segments in the folder, whichever process wrote them; 0: no limit.
  // A segment is written before those that it replaces are removed, so for a short time the folder
  // may hold more.
  int64_t disk_bytes = 0;
  // How acquire() checks a segment's file. With kAll, a file that was checked is read whole again
  // only after a change; the mark of a use, at most one a minute, counts as a change. With kHeader,
  // a segment can be used before its whole file is read; its user then calls
  // SegmentHandle::check_layer() for each layer.
  Verify verify = Verify::kAll;
  Eviction eviction = Eviction::kLru;  // eviction policy of both tiers
  // How files hold states. kInt8 needs a folder. With kInt8, acquire() gives states that were
  // quantized and restored to the original dtype, from either tier.
  SegmentForm form = SegmentForm::kPlain;
  // The device to which segments of the host tier are copied, or null. Their memory is locked for
  // these copies (HostLock).
  std::shared_ptr<DeviceRuntime> runtime = {};
};

struct SegmentStoreStats {
  int64_t host_bytes = 0,
          disk_bytes = 0;  // held now; host_bytes includes evicted segments that a handle holds
  int64_t host_segments = 0, disk_segments = 0;
  int64_t host_hits = 0, disk_hits = 0, misses = 0;  // results of acquire()
  int64_t host_evictions = 0, disk_evictions = 0;
  int64_t prefetched = 0;  // segments that prefetch() brought to the host tier
};

namespace detail {
struct Resident;
}

// Access to a segment, whose states can be read while the handle lives. Eviction, another put(),
// other processes and the end of the store do not affect them. Move-only.
class SegmentHandle {
 public:
  explicit SegmentHandle(std::shared_ptr<const detail::Resident> resident);
  SegmentHandle(SegmentHandle&&) noexcept = default;
  SegmentHandle& operator=(SegmentHandle&&) noexcept = default;
  SegmentHandle(const SegmentHandle&) = delete;
  SegmentHandle& operator=(const SegmentHandle&) = delete;
  ~SegmentHandle() = default;

  // Returns the cache that a plan reads in place: one block at offset 0. For a segment of the disk
  // tier this is the mapped file, whose pages are read when they are first touched.
  [[nodiscard]] CacheView view() const;
  [[nodiscard]] const SegmentShape& shape() const;
  [[nodiscard]] const std::string& note() const;
  [[nodiscard]] Tier tier() const;
  // Throws Error naming the file and layer if the layer's states are damaged; then erase() the key
  // and compute the segment again. For a mapped file, the first call for a layer reads the layer.
  // For a segment in memory, calls do nothing. Thread-safe, so one thread may check layers ahead of
  // another that uses them.
  void check_layer(int64_t layer) const;
  // Asks the system to read a layer of a mapped file ahead of its use. Returns at once.
  // Thread-safe.
  void fetch_layer(int64_t layer) const;

 private:
  std::shared_ptr<const detail::Resident> resident_;
};

class SegmentStore {
 public:
  // Finds the files in the directory. Leaves damaged files alone and lists them in damaged().
  // Throws Error if the directory cannot be made or read or is of a newer format, or if `options`
  // give neither tier.
  explicit SegmentStore(const SegmentStoreOptions& options);
  ~SegmentStore();
  SegmentStore(const SegmentStore&) = delete;
  SegmentStore& operator=(const SegmentStore&) = delete;

  // Stores a segment and replaces any older one with this key. `cost_s` >= 0 is the time, in
  // seconds, that computing its states took; kCostAware eviction uses it. Throws Error if no tier
  // has room, if the disk refuses, or if kInt8 cannot hold a state (NaN, infinity). `segment` is
  // then unchanged.
  void put(const SegmentKey& key, SegmentBuffer&& segment, double cost_s = 0);
  // Returns nullopt for an unknown key. If the key's file is damaged, forgets the key and throws
  // Error, so that the segment can be computed and put again. A kInt8 segment is brought to the
  // host tier. If the tier has no room, the segment takes memory beyond the budget while a handle
  // holds it.
  [[nodiscard]] std::optional<SegmentHandle> acquire(const SegmentKey& key);
  // Asks a thread of the store to check all layers of a segment on disk and to bring the segment to
  // the host tier. Returns at once. Does nothing if the host tier has no room, the key is unknown,
  // or the file is damaged (acquire() reports that).
  void prefetch(const SegmentKey& key);
  // Like prefetch() for several segments, the most wanted first. Making room for one of them does
  // not evict another.
  void prefetch_all(std::vector<SegmentKey> keys);
  // Blocks until all prefetches are done.
  void wait_for_prefetches();
  // Removes the key from both tiers, even if its file is damaged. Handles of the segment stay
  // readable. Returns true if there was a segment.
  bool erase(const SegmentKey& key);

  // Throws Error if the store sees the key's file for the first time and its header is damaged.
  [[nodiscard]] bool contains(const SegmentKey& key);
  [[nodiscard]] std::vector<SegmentKey> keys() const;  // sorted
  [[nodiscard]] SegmentStoreStats stats() const;
  // One sentence for each file of the directory that could not be read when the store was made.
  [[nodiscard]] const std::vector<std::string>& damaged() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::kv
