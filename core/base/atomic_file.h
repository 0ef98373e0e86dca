// Writes a file so that readers see either the complete new file or the old one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace reprise {

// Writes to a temporary file in the folder of `path`. commit() flushes it to the disk and renames
// it to `path`. Without commit(), the destructor removes the temporary file and `path` is
// unchanged. A killed process leaves the temporary file behind, see is_unfinished(). Several
// writers of one path are safe: the last commit wins. An existing path that is no regular file (a
// pipe, /dev/stdout) is written to directly.
class AtomicFile {
 public:
  // Throws Error naming the path if the file cannot be created there.
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // Throws Error with the system's reason (such as a full disk).
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  [[nodiscard]] size_t bytes_written() const { return bytes_written_; }
  // When this returns, the file is on the disk under its final name. Must be the last call. Throws
  // Error with the system's reason.
  void commit();

  // True if `path` has the name of a temporary file of this class, which a killed writer may have
  // left.
  [[nodiscard]] static bool is_unfinished(const std::filesystem::path& path);

 private:
  std::filesystem::path path_, beside_;  // beside_: the temporary file; "" if there is none
  int file_ = -1;
  size_t bytes_written_ = 0;
};

}  // namespace reprise
