// Segments kept by key beyond the requests, engines and processes that made them: in host memory
// and on disk.
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

// Where the states lie that a handle reads.
enum class Tier : uint8_t { kHost, kDisk };

struct SegmentStoreOptions {
  int64_t host_bytes = 0;           // most that segments may take in memory; 0: no host tier
  std::filesystem::path directory;  // of the disk tier; made where it is missing; "": no disk tier
  // Most that the folder's segments may take, whoever wrote them; 0: as much as the disk has. A
  // segment under way comes on top until it has taken the place of others.
  int64_t disk_bytes = 0;
  // How a file is checked when its segment is acquired for the first time since the file changed.
  // With kHeader a segment can be used before all of its file is read; who uses it calls
  // SegmentHandle::check_layer() for each layer.
  Verify verify = Verify::kAll;
  Eviction eviction = Eviction::kLru;  // of each tier
  // How files hold what is put. kInt8 takes a folder; put() and acquire() then give the states that
  // eight bits stand for, in the dtype that was put, from either tier.
  SegmentForm form = SegmentForm::kPlain;
  // Of a device that segments of the host tier are copied to: their memory is locked for that
  // (HostLock). Null: there is none.
  std::shared_ptr<DeviceRuntime> runtime = {};
};

struct SegmentStoreStats {
  int64_t host_bytes = 0,
          disk_bytes = 0;  // held now; of the host, those that a handle holds included
  int64_t host_segments = 0, disk_segments = 0;
  int64_t host_hits = 0, disk_hits = 0, misses = 0;  // of acquire()
  int64_t host_evictions = 0, disk_evictions = 0;
  int64_t prefetched = 0;  // segments that prefetch() brought to the host
};

namespace detail {
struct Resident;
}

// A segment that can be read for as long as the handle lives: neither eviction nor another put()
// nor another process nor the end of the store takes it away. Move-only.
class SegmentHandle {
 public:
  explicit SegmentHandle(std::shared_ptr<const detail::Resident> resident);
  SegmentHandle(SegmentHandle&&) noexcept = default;
  SegmentHandle& operator=(SegmentHandle&&) noexcept = default;
  SegmentHandle(const SegmentHandle&) = delete;
  SegmentHandle& operator=(const SegmentHandle&) = delete;
  ~SegmentHandle() = default;

  // As a plan reads it in place: one block at offset 0. Of the disk tier the memory is the mapped
  // file, whose pages come in as they are read, layer after layer.
  [[nodiscard]] CacheView view() const;
  [[nodiscard]] const SegmentShape& shape() const;
  [[nodiscard]] const std::string& note() const;
  [[nodiscard]] Tier tier() const;
  // Throws Error naming file and layer where the layer's states are not those that were put: then
  // erase() the key, and make the segment anew. Of a mapped file it reads the layer the first time;
  // in memory there is nothing left to check. Thread-safe: a thread may run
  // ahead of the one that uses the layers.
  void check_layer(int64_t layer) const;
  // Asks the system to begin reading a layer of a mapped file. Returns at once. Thread-safe.
  void fetch_layer(int64_t layer) const;

 private:
  std::shared_ptr<const detail::Resident> resident_;
};

// Both tiers: what is put goes to the disk, if there is one, and to the host as far as the budget
// reaches. A full tier gives up segments that nobody holds, in the order of its eviction policy.
// Without a disk, what the host gives up is gone.
//
// Keys are compared whole: a segment of another model, tokenizer, schema or dtype is never given
// back. Uses and costs are known beyond a restart as far as the files tell: the time of the last
// use, to the minute, and the cost.
//
// Thread-safe. Several processes may use one directory: files appear whole, and each process finds
// the others' when it asks for their keys and counts them when it makes room. They write one at a
// time. Errors of the disk name the path and leave the store as it was.
class SegmentStore {
 public:
  // Finds the files of a directory; damaged ones are left alone and listed by damaged(). Throws
  // Error where the directory cannot be made or read, is of a newer format, or neither tier is
  // given.
  explicit SegmentStore(const SegmentStoreOptions& options);
  ~SegmentStore();
  SegmentStore(const SegmentStore&) = delete;
  SegmentStore& operator=(const SegmentStore&) = delete;

  // Keeps a segment under its key, in place of an older one. `cost_s` is the time that computing
  // its states took, or would take, >= 0: what eviction by cost goes by. Throws Error with need and
  // have if no tier has room for it, and where eight bits cannot hold a state (NaN, infinity).
  void put(const SegmentKey& key, SegmentBuffer segment, double cost_s = 0);
  // Nothing where the key is not known. Throws Error where its file is damaged; the store then
  // forgets the key, so that the segment can be made and put anew. A segment in eight bits is
  // brought to the host, or, where that has no room, to memory beyond the budget for as long as it
  // is held.
  [[nodiscard]] std::optional<SegmentHandle> acquire(const SegmentKey& key);
  // Asks for a segment of the disk to be brought to the host by a thread of the store's own, with
  // all of its layers checked. Returns at once; where that is not possible (no room, no such key, a
  // damaged file) nothing happens, and acquire() tells.
  void prefetch(const SegmentKey& key);
  // The same of several, the most wanted first, such as the members of a union. None makes room by
  // giving up another of them.
  void prefetch_all(std::vector<SegmentKey> keys);
  // Blocks until what was asked of prefetch() is done.
  void wait_for_prefetches();
  // Forgets the key in both tiers, a damaged file too; what is acquired stays readable. Whether
  // there was one.
  bool erase(const SegmentKey& key);

  // Throws Error where the key's file is damaged.
  [[nodiscard]] bool contains(const SegmentKey& key);
  [[nodiscard]] std::vector<SegmentKey> keys() const;  // sorted
  [[nodiscard]] SegmentStoreStats stats() const;
  // Sentences about files of the directory that could not be read when the store was made.
  [[nodiscard]] const std::vector<std::string>& damaged() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::kv
