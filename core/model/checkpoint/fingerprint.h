// Short names for what cached states depend on: a model's config and weights, a tokenizer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/model/checkpoint/content_hash.h"

namespace reprise::model {

// A model's identity, and how much of its weights it covers.
struct Fingerprint {
  std::string text;  // 16 hexadecimal digits
  int64_t hashed_bytes = 0, weight_bytes = 0;

  // "all of its 90.9 MB", "samples of each tensor, 1.1 % of its 2.2 GB"
  [[nodiscard]] std::string coverage() const;
};

// Identifies a checkpoint folder by config.json and by each .safetensors file's name, size and
// content (content_hash_of()); the files' times do not count, so a copy is the same model. Samples
// may miss a change of single numbers in a file above 64 MiB, kWhole misses none. Throws Error
// naming what is missing or cannot be read.
Fingerprint fingerprint_of(const std::filesystem::path& folder,
                           Coverage coverage = Coverage::kSamples, KeptHashes* kept = nullptr);

// Of a model whose weights are random numbers: the text of its config.json, and their seed.
std::string fingerprint_of_random(std::string_view config, uint64_t seed);

// Of the tokenizer of a checkpoint folder (tokenizer.json, tokenizer.model, vocab.txt, as far as
// they are there), or of one file: all bytes. Throws Error where there is none.
std::string tokenizer_fingerprint_of(const std::filesystem::path& path);

}  // namespace reprise::model
