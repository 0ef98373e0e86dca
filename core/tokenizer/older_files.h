// Reads tokenizers that were saved before tokenizer.json existed: BERT's vocab.txt, and vocab.json
// with merges.txt of RoBERTa and the first DeBERTa.
//
//   vocab.txt               WordPiece, one token a line; BERT's normalizer with do_lower_case,
//                           strip_accents and tokenize_chinese_chars of tokenizer_config.json
//   vocab.json, merges.txt  byte-level BPE, with add_prefix_space of tokenizer_config.json
// Each text is put between [CLS] and [SEP], or else between <s> and </s>, if the vocabulary has
// them.
#pragma once

#include <filesystem>
#include <optional>

#include "core/base/json.h"

namespace reprise::tokenizer {

struct OlderFiles {
  std::filesystem::path source;  // the file that contains the vocabulary; named in errors
  // The equivalent tokenizer.json.
  Value json;
};

// Reads the older files in `folder`. Returns nullopt if it has none. Throws Error naming the file
// if it cannot be read, if a vocab.txt lacks [UNK], [CLS] or [SEP] or has a token twice, or if
// tokenizer_class (of tokenizer_config.json, or else of config.json), or else model_type, is not
// BERT's or RoBERTa's.
std::optional<OlderFiles> read_older_files(const std::filesystem::path& folder);

}  // namespace reprise::tokenizer
