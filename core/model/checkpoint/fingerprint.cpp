#include "core/model/checkpoint/fingerprint.h"

#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/model/checkpoint/safetensors.h"

namespace reprise::model {
namespace fs = std::filesystem;
namespace {

std::string hash_text(const std::string& bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

// Appends a named part of the text to hash, with its length so that parts cannot run together.
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

std::string fingerprint_of(const fs::path& folder) {
  std::string facts;
  append(facts, "config", read_file(folder / "config.json"));
  for (const fs::path& path : weights_of(folder)) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0)
      raise("cannot read {}: {}", path.string(), std::strerror(errno));
    append(facts, path.filename().string(),
           fmt::format("{} {} {}", found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec));
    append(facts, "header", safetensors_header_of(path).value_or("cut off"));
  }
  return hash_text(facts);
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
