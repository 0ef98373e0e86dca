#include "core/model/checkpoint/fingerprint.h"

#include <xxhash.h>

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"

namespace reprise::model {
namespace fs = std::filesystem;
namespace {

std::string hash_text(const std::string& bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

// Appends a named part of the text that is hashed. Its length comes first, so that the end of one
// part cannot be taken for the beginning of the next.
void append(std::string& facts, std::string_view name, std::string_view value) {
  facts += fmt::format("{} {}\n", name, value.size());
  facts += value;
}

std::vector<fs::path> weights_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  if (error) raise("cannot read the folder {}: {}", folder.string(), error.message());
  std::sort(files.begin(), files.end());
  if (files.empty())
    raise("{} holds no weights: give a checkpoint's folder, with its .safetensors files",
          folder.string());
  return files;
}

}  // namespace

std::string Fingerprint::coverage() const {
  const auto size = [](int64_t bytes) {
    return bytes < 1'000'000'000 ? fmt::format("{:.1f} MB", static_cast<double>(bytes) * 1e-6)
                                 : fmt::format("{:.1f} GB", static_cast<double>(bytes) * 1e-9);
  };
  if (hashed_bytes == weight_bytes) return fmt::format("all of its {}", size(weight_bytes));
  return fmt::format("samples of each tensor, {:.2g} % of its {}",
                     100 * static_cast<double>(hashed_bytes) / static_cast<double>(weight_bytes),
                     size(weight_bytes));
}

Fingerprint fingerprint_of(const fs::path& folder, Coverage coverage, KeptHashes* kept) {
  Fingerprint fingerprint;
  std::string facts;
  append(facts, "config", read_file(folder / "config.json"));
  for (const fs::path& path : weights_of(folder)) {
    const ContentHash content = content_hash_of(path, coverage, kept);
    append(facts, path.filename().string(),
           fmt::format("{} bytes, {} of them {:016x}", content.file_bytes, content.hashed_bytes,
                       content.hash));
    fingerprint.hashed_bytes += content.hashed_bytes;
    fingerprint.weight_bytes += content.file_bytes;
  }
  fingerprint.text = hash_text(facts);
  return fingerprint;
}

std::string fingerprint_of_random(std::string_view config, uint64_t seed) {
  std::string facts;
  append(facts, "config", config);
  append(facts, "seed", std::to_string(seed));
  return hash_text(facts);
}

std::string tokenizer_fingerprint_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return hash_text(read_file(path));
  std::string facts;
  for (const char* name :
       {"tokenizer.json", "tokenizer.model", "vocab.txt", "spm.model", "vocab.json", "merges.txt"})
    if (fs::is_regular_file(path / name, error)) append(facts, name, read_file(path / name));
  if (facts.empty())
    raise(
        "{} holds no tokenizer: neither tokenizer.json nor tokenizer.model nor an older form of "
        "them "
        "(spm.model, vocab.txt, vocab.json with merges.txt)",
        path.string());
  return hash_text(facts);
}

}  // namespace reprise::model
