// Fingerprints of the things that cached states depend on: a model's config and weights, a
// tokenizer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/model/checkpoint/content_hash.h"

namespace reprise::model {

// A model's identity, and the bytes of its weights that the identity covers.
struct Fingerprint {
  std::string text;  // 16 hexadecimal digits
  int64_t hashed_bytes = 0, weight_bytes = 0;

  // Text for messages: "all of its 90.9 MB", "samples of each tensor, 1.1 % of its 2.2 GB".
  [[nodiscard]] std::string coverage() const;
};

// Identifies a checkpoint folder by config.json and by each .safetensors file's name, size and
// content (content_hash_of()). The files' times do not count, so a copy is the same model. kSamples
// may miss a change of single numbers in a file above 64 MiB; kWhole misses none. Throws Error
// naming what is missing or cannot be read.
Fingerprint fingerprint_of(const std::filesystem::path& folder,
                           Coverage coverage = Coverage::kSamples, KeptHashes* kept = nullptr);

// Fingerprint of a model with random weights: a hash of its config.json and the seed.
std::string fingerprint_of_random(std::string_view config, uint64_t seed);

// Fingerprint of a tokenizer file, or of the tokenizer files in a checkpoint folder
// (tokenizer.json, tokenizer.model, vocab.txt, spm.model, vocab.json, merges.txt): a hash of all
// bytes. Throws Error if the folder has none of them.
std::string tokenizer_fingerprint_of(const std::filesystem::path& path);

}  // namespace reprise::model
