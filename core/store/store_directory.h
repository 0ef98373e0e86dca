// The folder of a segment store: its files, its lock, and the files that may be removed.
//
//   store.json            {"format": 2}, written with the first segment
//   store.lock            locked by a process that writes segments or removes them to make room
//   DIGITS.segment        one segment each: see segment_key.h and segment_file.h. Files of other
//                         names are not the store's, and are left alone.
//   *.unfinished          a file being written; if nobody holds the lock, its writer has died
//
// A segment file's modification time is the time of its last use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/file_stamp.h"
#include "core/store/segment_file.h"

namespace reprise::kv {

// Throws NewerFormatError if a newer version of this program made the folder. Accepts a folder
// without store.json, since it is empty or of format 1. Also accepts a damaged store.json, since
// each segment's file states its own format. Returns a description of that damage, or "".
std::string check_store_format(const std::filesystem::path& folder);
// Writes store.json if it is missing or damaged.
void mark_store_format(const std::filesystem::path& folder);
// True if the folder belongs to a store: a writer has used it, even if that writer was killed
// early.
[[nodiscard]] bool is_store(const std::filesystem::path& folder);

// A lock that a process holds while it writes segments, or removes them to make room. Only one
// process at a time holds it. Readers need no lock. If a process dies, the system frees its lock.
class StoreLock {
 public:
  // Waits for the lock. Throws Error naming the folder if it cannot be locked or written.
  explicit StoreLock(const std::filesystem::path& folder);
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;
  ~StoreLock();

 private:
  int file_ = -1;
};

struct StoreFile {
  std::filesystem::path path;
  int64_t bytes = 0;
  int64_t last_use_ns = 0;  // time since 1970
};

struct StoreListing {
  std::vector<StoreFile> segments;    // least recently used first, damaged ones included
  std::vector<StoreFile> unfinished;  // least recently used first
};

// Throws Error if the folder cannot be read. Leaves out files that disappear during the call.
StoreListing list_store(const std::filesystem::path& folder);

// Removes unfinished files of writers that died. The caller must hold the lock.
void remove_unfinished(const StoreListing& listing);

// Opens a segment's file and checks its header. Other processes may replace or remove the file
// during the call. Returns nullopt if there is no file. Throws Error as SegmentFile does.
std::optional<SegmentFile> open_if_there(const std::filesystem::path& file);

// Throws Error if a segment's file does not have the name of its key, by which a store finds it.
void require_name_of(const SegmentKey& key, const std::filesystem::path& file);

// Sets the last use of the segment in `file` to the present time. Does nothing if the folder is
// read-only.
void mark_use(const std::filesystem::path& file);

}  // namespace reprise::kv
