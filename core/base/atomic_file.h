// A file that appears whole or not at all: written beside its place, flushed to the disk, renamed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace reprise {

// What is written stands in a file of its own beside `path` until commit(); whoever reads `path`
// meanwhile finds the old file or none. Without commit() (an exception, an interrupt) the file
// beside is removed and `path` is as it was; a killed process leaves the file beside, which
// is_unfinished() knows. Several writers of one path, of several machines too, do not disturb each
// other: the last commit stays. A path that is no regular file (a pipe, /dev/stdout) is written to
// as it is: nothing can take its place.
class AtomicFile {
 public:
  // Throws Error naming the path where the folder refuses.
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // Throws Error with the system's reason (a full disk, ...).
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  [[nodiscard]] size_t bytes_written() const { return bytes_written_; }
  // The file is on the disk under its name when this returns. Once.
  void commit();

  // Whether a file name is that of a file beside, which a killed writer may have left.
  [[nodiscard]] static bool is_unfinished(const std::filesystem::path& path);

 private:
  std::filesystem::path path_, beside_;  // beside_ is empty where `path` is written to as it is
  int file_ = -1;
  size_t bytes_written_ = 0;
};

}  // namespace reprise
