// Segments kept by name beyond the requests and engines that made them: in host memory and on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/kv/segment_buffer.h"
#include "core/kv/segment_file.h"

namespace reprise::kv {

enum class Tier : uint8_t { kHost, kDisk };

struct SegmentStoreOptions {
  int64_t host_bytes = 0;           // most that segments may take in memory; 0: no host tier
  std::filesystem::path directory;  // of the disk tier; made where it is missing; "": no disk tier
  int64_t disk_bytes = 0;           // most that files may take; 0: as much as the disk has
  // How a file is checked when its segment is first acquired.
  Verify verify = Verify::kAll;
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
// nor the end of the store takes it away. Move-only.
class SegmentHandle {
 public:
  explicit SegmentHandle(std::shared_ptr<const detail::Resident> resident);
  SegmentHandle(SegmentHandle&&) noexcept = default;
  SegmentHandle& operator=(SegmentHandle&&) noexcept = default;
  SegmentHandle(const SegmentHandle&) = delete;
  SegmentHandle& operator=(const SegmentHandle&) = delete;
  ~SegmentHandle() = default;

  // As a plan reads it in place: one block at offset 0. Of the disk tier the memory is the mapped
  // file, whose pages come in as they are read.
  [[nodiscard]] CacheView view() const;
  [[nodiscard]] const SegmentShape& shape() const;
  [[nodiscard]] const std::string& note() const;
  [[nodiscard]] Tier tier() const;

 private:
  std::shared_ptr<const detail::Resident> resident_;
};

// Both tiers: what is put goes to the disk, if there is one, and to the host as far as the budget
// reaches; a full host drops its least recently used segments that nobody holds, a full disk
// removes the files of such segments. Without a disk, what the host drops is gone.
//
// Thread-safe. Several processes may use one directory: files appear whole, and each process finds
// the others' when it asks for their keys. Errors of the disk name the path and leave the store as
// it was.
class SegmentStore {
 public:
  // Finds the files of a directory; damaged ones are left alone and listed by damaged(). Throws
  // Error where the directory cannot be made or read, or neither tier is given.
  explicit SegmentStore(const SegmentStoreOptions& options);
  ~SegmentStore();
  SegmentStore(const SegmentStore&) = delete;
  SegmentStore& operator=(const SegmentStore&) = delete;

  // Keeps a segment under a key (any bytes; say what the states depend on: model, schema, module),
  // in place of an older one. Throws Error with need and have if no tier has room for it.
  void put(const std::string& key, SegmentBuffer segment);
  // Nothing where the key is not known. Throws Error where its file is damaged; the store then
  // forgets the key, so that the segment can be made and put anew.
  [[nodiscard]] std::optional<SegmentHandle> acquire(const std::string& key);
  // Asks for a segment of the disk to be brought to the host by a thread of the store's own.
  // Returns at once; where that is not possible (no room, no such key, a damaged file) nothing
  // happens, and acquire() tells.
  void prefetch(const std::string& key);
  // Blocks until what was asked of prefetch() is done.
  void wait_for_prefetches();
  // Forgets the key in both tiers; what is acquired stays readable. Whether there was one.
  bool erase(const std::string& key);

  [[nodiscard]] bool contains(const std::string& key);
  [[nodiscard]] std::vector<std::string> keys() const;  // sorted
  [[nodiscard]] SegmentStoreStats stats() const;
  // Sentences about files of the directory that could not be read when the store was made.
  [[nodiscard]] const std::vector<std::string>& damaged() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::kv
