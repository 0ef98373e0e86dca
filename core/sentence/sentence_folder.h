// What a sentence-transformers folder says about making sentence vectors, beside the model itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/sentence/pooling.h"

namespace reprise::sentence {

struct SentenceFolder {
  std::filesystem::path model;  // the folder of config.json, weights and tokenizer
  Pooling pooling;
  std::optional<int64_t> most_tokens;  // max_seq_length: of a text with what is put around it
  bool lowers_case = false;            // do_lower_case: before the tokenizer sees a text
  bool pools_prompt = true;            // include_prompt: whether pooling sees a prompt's tokens
  std::string prompt;                  // stands before each text: the default of its prompts
};

// Reads modules.json and what it names: the transformer's sentence_bert_config.json (or an older
// name of it), the pooling's config.json, and config_sentence_transformers.json; nothing where the
// folder has no modules.json. Throws Error naming file and key for modules other than a
// Transformer, a Pooling and perhaps a Normalize, in this order, for a path that leaves the folder,
// and for no pooling mode.
std::optional<SentenceFolder> read_sentence_folder(const std::filesystem::path& folder);

}  // namespace reprise::sentence
