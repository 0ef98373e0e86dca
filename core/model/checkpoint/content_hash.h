// Hashes the contents of weight files, so that checkpoints are distinguished by content and not by
// names and times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/base/file_stamp.h"

namespace reprise::model {

enum class Coverage : uint8_t {
  kSamples,  // samples of each tensor, see content_hash_of()
  kWhole     // every byte
};

// Files of at most this size are always hashed whole, which takes milliseconds.
inline constexpr int64_t kWholeFileBytes = int64_t{64} << 20;

struct ContentHash {
  uint64_t hash = 0;         // XXH3
  int64_t hashed_bytes = 0;  // number of bytes that were hashed
  int64_t file_bytes = 0;
};

// Keeps the hashes of whole files by FileStamp in a JSON file, so that a checkpoint is read whole
// only once. A JSON file that cannot be read or written, or that is damaged, is not an error: a
// later run then reads the checkpoint again.
class KeptHashes {
 public:
  explicit KeptHashes(std::filesystem::path path);
  [[nodiscard]] std::optional<uint64_t> find(const FileStamp& file) const;
  // Adds the hash and writes the JSON file, whose folder is created if there is none. Does nothing
  // if the file changed within the last second, since a further change might then get the same
  // time.
  void add(const FileStamp& file, uint64_t hash);

 private:
  struct Entry {
    FileStamp file;
    uint64_t hash = 0;
  };
  std::filesystem::path path_;
  std::vector<Entry> entries_;
};

// Returns the hash of a .safetensors file. For a file above kWholeFileBytes, kSamples covers the
// header and, of each tensor, eight evenly spaced pieces of 4 KiB, including the first and the last
// (a tensor of up to 32 KiB whole). `kept` (or null) saves reading a large file whole again. Throws
// Error if the file cannot be read or, with samples, if it is not a valid .safetensors file.
ContentHash content_hash_of(const std::filesystem::path& path, Coverage coverage,
                            KeptHashes* kept = nullptr);

}  // namespace reprise::model
