// A store of segments by key, in host memory and on disk. Segments outlive the requests, engines
// and processes that made them.
//
// The store has a host tier, a disk tier or both. put() writes to the disk tier, and to the host
// tier if the budget allows. A full tier evicts segments that nobody holds, in the order of its
// eviction policy. Without a disk tier, evicted segments are lost.
//
// Keys are compared as a whole: a segment of another model, tokenizer, schema or dtype is never
// returned. After a restart, cost and last use (to the minute) are read from the files.
//
// Thread-safe. Several processes may use one directory: files are written atomically, one process
// writes at a time, and each finds the others' segments when it asks for their keys or makes room.
// Errors of the disk name the path and leave the store as it was.
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

// The place of a handle's states.
enum class Tier : uint8_t { kHost, kDisk };

struct SegmentStoreOptions {
  int64_t host_bytes = 0;           // most bytes of segments in memory; 0: no host tier
  std::filesystem::path directory;  // folder of the disk tier, made if missing; "": no disk tier
  // Most bytes of segments in the folder, whoever wrote them; 0: no limit. A segment being written
  // comes on top until it has replaced others.
  int64_t disk_bytes = 0;
  // How a file is checked when its segment is first acquired since the file changed. With kHeader a
  // segment can be used before all of its file is read; its user then calls
  // SegmentHandle::check_layer() for each layer.
  Verify verify = Verify::kAll;
  Eviction eviction = Eviction::kLru;  // policy of each tier
  // How files hold states. kInt8 needs a folder; put() and acquire() then give the states as
  // quantized and restored, in the original dtype, from both tiers.
  SegmentForm form = SegmentForm::kPlain;
  // Device to which segments of the host tier are copied; their memory is locked for that
  // (HostLock). Null if there is none.
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

// A segment that can be read while the handle lives: eviction, another put(), other processes and
// the end of the store do not affect it. Move-only.
class SegmentHandle {
 public:
  explicit SegmentHandle(std::shared_ptr<const detail::Resident> resident);
  SegmentHandle(SegmentHandle&&) noexcept = default;
  SegmentHandle& operator=(SegmentHandle&&) noexcept = default;
  SegmentHandle(const SegmentHandle&) = delete;
  SegmentHandle& operator=(const SegmentHandle&) = delete;
  ~SegmentHandle() = default;

  // The cache that a plan reads in place: one block at offset 0. In the disk tier this is the
  // mapped file, whose pages are read when they are touched.
  [[nodiscard]] CacheView view() const;
  [[nodiscard]] const SegmentShape& shape() const;
  [[nodiscard]] const std::string& note() const;
  [[nodiscard]] Tier tier() const;
  // Throws Error naming the file and layer if the layer's states are damaged; then erase() the key
  // and compute the segment again. The first call for a layer of a mapped file reads it; calls for
  // segments in memory do nothing. Thread-safe, so one thread may check ahead of another that uses
  // the layers.
  void check_layer(int64_t layer) const;
  // Asks the system to read a layer of a mapped file ahead. Returns at once. Thread-safe.
  void fetch_layer(int64_t layer) const;

 private:
  std::shared_ptr<const detail::Resident> resident_;
};

// The store described at the top of this file. Thread-safe.
class SegmentStore {
 public:
  // Finds the files of the directory; leaves damaged ones alone and lists them in damaged(). Throws
  // Error if the directory cannot be made or read, is of a newer format, or neither tier is given.
  explicit SegmentStore(const SegmentStoreOptions& options);
  ~SegmentStore();
  SegmentStore(const SegmentStore&) = delete;
  SegmentStore& operator=(const SegmentStore&) = delete;

  // Stores a segment in place of any older one with this key. `cost_s` >= 0 is the time that
  // computing its states takes; kCostAware eviction uses it. Throws Error if no tier has room, if
  // the disk refuses, and if kInt8 cannot hold a state (NaN, infinity); `segment` is then
  // unchanged.
  void put(const SegmentKey& key, SegmentBuffer&& segment, double cost_s = 0);
  // Returns nullopt for an unknown key. If its file is damaged, forgets the key and throws Error,
  // so that the segment can be computed and put again. A kInt8 segment is brought to the host tier;
  // if there is no room, it takes memory beyond the budget while it is held.
  [[nodiscard]] std::optional<SegmentHandle> acquire(const SegmentKey& key);
  // Asks a thread of the store to check all layers of a segment on disk and bring it to the host
  // tier. Returns at once. Does nothing if there is no room, no such key or a damaged file
  // (acquire() reports that).
  void prefetch(const SegmentKey& key);
  // prefetch() for several segments, the most wanted first. Making room for one does not evict
  // another of them.
  void prefetch_all(std::vector<SegmentKey> keys);
  // Blocks until all prefetches are done.
  void wait_for_prefetches();
  // Removes the key from both tiers, even if its file is damaged; handles stay readable. Returns
  // whether there was a segment.
  bool erase(const SegmentKey& key);

  // Throws Error if the key's file, not yet known to the store, has a damaged header.
  [[nodiscard]] bool contains(const SegmentKey& key);
  [[nodiscard]] std::vector<SegmentKey> keys() const;  // sorted
  [[nodiscard]] SegmentStoreStats stats() const;
  // A sentence for each file of the directory that could not be read when the store was made.
  [[nodiscard]] const std::vector<std::string>& damaged() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::kv
