// Fingerprints of the things that cached states depend on: a model's config and weights, a
// tokenizer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace reprise::model {

// Fingerprint of a checkpoint folder, 16 hexadecimal digits: a hash of config.json and of each
// .safetensors file's name, size, modification time and header; takes milliseconds. It misses
// changes in place that keep the time, and a copy with other times counts as another model. Throws
// Error naming what is missing or cannot be read.
std::string fingerprint_of(const std::filesystem::path& folder);

// Fingerprint of a model with random weights: a hash of its config.json and the seed.
std::string fingerprint_of_random(std::string_view config, uint64_t seed);

// Fingerprint of a tokenizer file, or of the tokenizer files in a checkpoint folder
// (tokenizer.json, tokenizer.model, vocab.txt, spm.model, vocab.json, merges.txt): a hash of all
// bytes. Throws Error if the folder has none of them.
std::string tokenizer_fingerprint_of(const std::filesystem::path& path);

}  // namespace reprise::model
