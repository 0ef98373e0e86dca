// Tokenizers that were saved before tokenizer.json: vocab.txt of BERT, vocab.json with merges.txt
// of RoBERTa and the first DeBERTa.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/json.h"

namespace reprise::tokenizer {

struct OlderFiles {
  std::filesystem::path source;  // the file with the vocabulary, for errors
  Json json;                     // the tokenizer.json that says the same
};

// What `folder` holds of them, if anything.
//   vocab.txt               WordPiece, a token a line; BERT's normalizer with do_lower_case,
//                           strip_accents and tokenize_chinese_chars of tokenizer_config.json;
//                           [CLS] and [SEP] around a text
//   vocab.json, merges.txt  byte-level BPE; [CLS] and [SEP] where the vocabulary has them, else <s>
//                           and </s>, else nothing around a text
// Throws Error naming the file for what cannot be read, and for a vocab.txt without [UNK], [CLS] or
// [SEP] or with a token twice.
std::optional<OlderFiles> read_older_files(const std::filesystem::path& folder);

}  // namespace reprise::tokenizer
