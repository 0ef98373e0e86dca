#include "core/model/checkpoint/content_hash.h"

#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/mapped_file.h"
#include "core/model/checkpoint/safetensors.h"

namespace reprise::model {
namespace {

constexpr size_t kSampleBytes = 4096;
constexpr size_t kSamples = 8;  // number of pieces hashed per tensor

// Hashes bytes piece by piece and counts them.
class Hasher {
 public:
  Hasher() { XXH3_64bits_reset(state_.get()); }
  void add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
    bytes_ += std::ssize(bytes);
  }
  [[nodiscard]] uint64_t hash() const { return XXH3_64bits_digest(state_.get()); }
  [[nodiscard]] int64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
  int64_t bytes_ = 0;
};

uint64_t hash_of_all(const std::filesystem::path& path) {
  const MappedFile file(path);
  constexpr size_t kAtOnce = size_t{64} << 20;  // bytes hashed before their pages are released
  Hasher hasher;
  for (size_t begin = 0; begin < file.bytes().size(); begin += kAtOnce) {
    const size_t bytes = std::min(kAtOnce, file.bytes().size() - begin);
    file.fetch(begin, bytes);
    hasher.add(file.bytes().subspan(begin, bytes));
    file.release(begin, bytes);
  }
  return hasher.hash();
}

void add_samples(std::span<const std::byte> tensor, Hasher& hasher) {
  if (tensor.size() <= kSamples * kSampleBytes) {
    hasher.add(tensor);
    return;
  }
  const size_t last = tensor.size() - kSampleBytes;
  for (size_t i = 0; i < kSamples - 1; ++i)
    hasher.add(tensor.subspan(last / (kSamples - 1) * i, kSampleBytes));
  hasher.add(tensor.subspan(last));
}

uint64_t unsigned_at(JsonObject& object, const char* key) {
  const std::optional<uint64_t> number = object.at(key).whole();
  if (!number) raise("{} is no whole number", object.where(key));
  return *number;
}

}  // namespace

KeptHashes::KeptHashes(std::filesystem::path path) : path_(std::move(path)) {
  try {
    const Value kept = read_json(path_);
    JsonObject file(kept, path_.string());
    for (const Value& item : file.list("whole_files")) {
      JsonObject entry(item, path_.string());
      entries_.push_back({.file = {.device = unsigned_at(entry, "device"),
                                   .inode = unsigned_at(entry, "inode"),
                                   .bytes = entry.integer("bytes"),
                                   .change_ns = entry.integer("change_ns")},
                          .hash = unsigned_at(entry, "hash")});
    }
  } catch (const Error&) {
    entries_.clear();
  }
}

std::optional<uint64_t> KeptHashes::find(const FileStamp& file) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.file == file; });
  if (found == entries_.end()) return std::nullopt;
  return found->hash;
}

void KeptHashes::add(const FileStamp& file, uint64_t hash) {
  if (!is_settled(file)) return;
  std::erase_if(entries_, [&](const Entry& entry) {
    return entry.file.device == file.device && entry.file.inode == file.inode;
  });
  entries_.push_back({.file = file, .hash = hash});
  Values list;
  for (const Entry& entry : entries_)
    list.push_back(Fields{{"device", entry.file.device},
                          {"inode", entry.file.inode},
                          {"bytes", entry.file.bytes},
                          {"change_ns", entry.file.change_ns},
                          {"hash", entry.hash}});
  std::error_code ignored;
  std::filesystem::create_directories(path_.parent_path(), ignored);
  try {
    AtomicFile written(path_);
    written.write(json_text(Fields{{"whole_files", list}}, 1));
    written.commit();
  } catch (const Error&) {  // e.g. a read-only folder; the next run then reads the weights again
  }
}

ContentHash content_hash_of(const std::filesystem::path& path, Coverage coverage,
                            KeptHashes* kept) {
  const std::optional<FileStamp> stamp = stamp_of(path);
  if (!stamp) raise("cannot read {}: {}", path.string(), std::strerror(errno));
  if (coverage == Coverage::kSamples && stamp->bytes > kWholeFileBytes) {
    const SafetensorsFile file(path);
    Hasher hasher;
    const std::string header = safetensors_header_of(path).value_or("");
    hasher.add(std::as_bytes(std::span(header)));
    for (const auto& [name, tensor] : file.entries()) add_samples(file.bytes(tensor), hasher);
    return {.hash = hasher.hash(), .hashed_bytes = hasher.bytes(), .file_bytes = stamp->bytes};
  }
  const bool is_kept = kept != nullptr && stamp->bytes > kWholeFileBytes;
  std::optional<uint64_t> hash = is_kept ? kept->find(*stamp) : std::nullopt;
  if (!hash) {
    hash = hash_of_all(path);
    if (is_kept && stamp_of(path) == stamp) kept->add(*stamp, *hash);
  }
  return {.hash = *hash, .hashed_bytes = stamp->bytes, .file_bytes = stamp->bytes};
}

}  // namespace reprise::model
