// Fingerprints of what cached states depend on: a model's config and weights, and a tokenizer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/model/checkpoint/content_hash.h"

namespace reprise::model {

// Identifies a model, and says how many bytes of its weights the identity covers.
struct Fingerprint {
  std::string text;  // 16 hexadecimal digits
  int64_t hashed_bytes = 0, weight_bytes = 0;

  // The coverage as text for messages: "all of its 90.9 MB", "samples of each tensor, 1.1 % of its
  // 2.2 GB".
  [[nodiscard]] std::string coverage() const;
};

// Identifies a checkpoint folder by its config.json and by the name, size and content
// (content_hash_of()) of each .safetensors file. The files' times do not count, so a copy is the
// same model. kSamples may miss a change of single numbers in a file above 64 MiB; kWhole misses
// none. Throws Error naming what is missing or cannot be read.
Fingerprint fingerprint_of(const std::filesystem::path& folder,
                           Coverage coverage = Coverage::kSamples, KeptHashes* kept = nullptr);

// Returns the fingerprint of a model with random weights: a hash of its config.json and the seed.
std::string fingerprint_of_random(std::string_view config, uint64_t seed);

// Returns the fingerprint of a tokenizer file, or of the tokenizer files in a checkpoint folder
// (tokenizer.json, tokenizer.model, vocab.txt, spm.model, vocab.json, merges.txt). It is a hash of
// all bytes. Throws Error if the folder has none of these files.
std::string tokenizer_fingerprint_of(const std::filesystem::path& path);

}  // namespace reprise::model
