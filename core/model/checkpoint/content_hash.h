// Hashes of weight files' contents, which tell checkpoints apart whatever their names and times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace reprise::model {

enum class Coverage : uint8_t {
  kSamples,  // see content_hash_of()
  kWhole     // every byte
};

// Files of at most this size are always hashed whole: that takes milliseconds.
inline constexpr int64_t kWholeFileBytes = int64_t{64} << 20;

struct ContentHash {
  uint64_t hash = 0;         // XXH3
  int64_t hashed_bytes = 0;  // that the hash covers
  int64_t file_bytes = 0;
};

// What the system says of a file. The time of change cannot be set by a program, so two equal
// stamps are of one content, however its modification time was set.
struct FileChange {
  uint64_t device = 0, inode = 0;
  int64_t bytes = 0, modified_ns = 0, changed_ns = 0;

  friend bool operator==(const FileChange&, const FileChange&) = default;
};
// Throws Error naming the path where it cannot be read.
FileChange change_of(const std::filesystem::path& path);

// Hashes of whole files, kept in a JSON file by FileChange, so that a checkpoint is read whole
// once. A file that cannot be read or written, or that is damaged, keeps nothing and is no error.
class KeptHashes {
 public:
  explicit KeptHashes(std::filesystem::path path);
  [[nodiscard]] std::optional<uint64_t> find(const FileChange& file) const;
  // Keeps the hash, and writes the file, unless the change is so recent that another one might
  // bear the same time.
  void add(const FileChange& file, uint64_t hash);

 private:
  struct Entry {
    FileChange file;
    uint64_t hash = 0;
  };
  std::filesystem::path path_;
  std::vector<Entry> entries_;
};

// Hash of a .safetensors file. Of a file above kWholeFileBytes, kSamples covers the header and of
// each tensor its first and last 4 KiB and six pieces of 4 KiB at even distances between; a tensor
// of up to 32 KiB whole. `kept` (null: none) spares reading files whole again. Throws Error where
// the file cannot be read or, where samples are taken, is no sound .safetensors file.
ContentHash content_hash_of(const std::filesystem::path& path, Coverage coverage,
                            KeptHashes* kept = nullptr);

}  // namespace reprise::model
