// Short names for what cached states depend on: a model's config and weights, a tokenizer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace reprise::model {

// Of a checkpoint folder, as 16 hexadecimal digits: config.json whole, and of each .safetensors its
// name, size, time of change and list of tensors. Takes milliseconds whatever the size. So weights
// that were changed in place, with the time set back, are not told apart, and a copy that does not
// keep the times is another model. Throws Error naming what is missing or cannot be read.
std::string fingerprint_of(const std::filesystem::path& folder);

// Of a model whose weights are random numbers: the text of its config.json, and their seed.
std::string fingerprint_of_random(std::string_view config, uint64_t seed);

// Of the tokenizer of a checkpoint folder (tokenizer.json, tokenizer.model, vocab.txt, as far as
// they are there), or of one file: all bytes. Throws Error where there is none.
std::string tokenizer_fingerprint_of(const std::filesystem::path& path);

}  // namespace reprise::model
