// Detects whether a file has changed, even if its modification time was set back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace reprise {

// Identifies the state of a file. If a stamp was settled when it was taken (is_settled()), an equal
// stamp later means that the file has not changed. `change_ns` is the inode's change time (ctime),
// which no program can set.
struct FileStamp {
  uint64_t device = 0, inode = 0;
  int64_t bytes = 0, change_ns = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
std::optional<FileStamp> stamp_of(const std::filesystem::path& file);  // nullopt: no such file

// True if the stamp's change time is more than a second ago. Every later change then gives another
// stamp. File systems keep times in steps of some milliseconds, so two changes in quick succession
// may have equal stamps.
[[nodiscard]] bool is_settled(const FileStamp& stamp);

}  // namespace reprise
