// A segment store's folder: what lies in it, who may write to it, and what of it may go.
//
//   store.json            {"format": 2}, written with the first segment
//   store.lock            locked by whoever writes segments or removes them to make room
//   DIGITS.segment        a segment each: see segment_key.h and segment_file.h
//   *.unfinished          a file under way; where nobody holds the lock, its writer has died
//
// The time of change of a segment's file is that of its last use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/store/segment_file.h"

namespace reprise::kv {

// Throws NewerFormatError where a newer version of this program has made the folder, Error where
// store.json is damaged. A folder without store.json is empty or of the first format: both are
// fine.
void check_store_format(const std::filesystem::path& folder);
// Writes store.json where there is none.
void mark_store_format(const std::filesystem::path& folder);

// Held while segments are written or removed to make room: one writer at a time, of all processes.
// Readers need none, and the system frees the lock of a process that dies.
class StoreLock {
 public:
  // Waits for its turn. Throws Error naming the folder where it cannot be locked or written.
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
  int64_t last_use_ns = 0;  // since 1970
};

struct StoreListing {
  std::vector<StoreFile> segments;    // longest unused first, sound or not
  std::vector<StoreFile> unfinished;  // likewise
};

// Throws Error where the folder cannot be read. Files that leave meanwhile are left out.
StoreListing list_store(const std::filesystem::path& folder);

// Under the lock: removes what dead writers have left.
void remove_unfinished(const StoreListing& listing);

// Tells whether a file may have changed since it was looked at.
struct FileStamp {
  uint64_t inode = 0;
  int64_t bytes = 0, change_ns = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
std::optional<FileStamp> stamp_of(const std::filesystem::path& file);  // none: there is no file

// Opens a segment's file, checking its header, while other processes may replace or remove it: none
// where there is no file. Throws Error as SegmentFile does.
std::optional<SegmentFile> open_if_there(const std::filesystem::path& file);

// Notes that a segment is used now. Where that is not allowed (a folder that is only read), it does
// nothing.
void mark_use(const std::filesystem::path& file);

}  // namespace reprise::kv
