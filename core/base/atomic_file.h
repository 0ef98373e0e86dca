// Writes a file so that readers see either the complete new file or the old one.
//
// Two kinds of paths are written to directly, without a temporary file: an existing path that is no
// regular file (a pipe, a device), and the name of a file descriptor of this process (/dev/stdout,
// /dev/stderr, /dev/fd/N or /proc/self/fd/N). A descriptor keeps its offset, so that output goes
// where a shell's `> FILE` or `>> FILE` wants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace reprise {

// Writes to a temporary file in the folder of `path`. commit() flushes it to the disk and renames
// it to `path`. Without commit(), the destructor removes the temporary file and `path` is
// unchanged. A killed process leaves the temporary file behind, see is_unfinished(). Several
// writers of one path are safe: the last commit wins. The new file has the mode of the file that it
// replaces, or else what the umask allows.
class AtomicFile {
 public:
  // Says whether a link at `path` is followed. kReplace: the new file replaces the link, so that a
  // link in a folder of somebody else cannot make this program write elsewhere. kFollow, for paths
  // that a user names: the file that the link leads to is written. Only links of this user or of
  // root are followed.
  enum class Links : uint8_t { kReplace, kFollow };

  // Throws Error naming the path if the file cannot be created there.
  explicit AtomicFile(std::filesystem::path path, Links links = Links::kReplace);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // Throws Error with the system's reason (such as a full disk).
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  [[nodiscard]] size_t bytes_written() const { return bytes_written_; }
  // True if write() writes to `path` itself, so that what was written stays there without commit().
  [[nodiscard]] bool is_direct() const { return beside_.empty(); }
  // When this returns, the file is on the disk under its final name. Must be the last call. Throws
  // Error with the system's reason.
  void commit();

  // True if `path` has the name of a temporary file of this class, which a killed writer may have
  // left.
  [[nodiscard]] static bool is_unfinished(const std::filesystem::path& path);

 private:
  void create_beside();

  std::filesystem::path path_, beside_;  // beside_: the temporary file; "" if there is none
  int file_ = -1;
  size_t bytes_written_ = 0;
};

}  // namespace reprise
