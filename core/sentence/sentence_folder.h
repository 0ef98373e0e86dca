// Reads how a sentence-transformers folder turns the model's states into sentence vectors.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/sentence/pooling.h"

namespace reprise::sentence {

// Possible names of the file with the transformer's settings, one for each kind of model. The first
// of these files that exists is read.
inline constexpr std::array kTransformerFiles = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json"};

struct SentenceFolder {
  std::filesystem::path model;           // the folder with config.json, weights and tokenizer
  std::filesystem::path pooling_folder;  // the folder with the config.json of `pooling`
  Pooling pooling;
  // Limit on the tokens of a text, special tokens included: max_seq_length, or else
  // model_max_length in tokenizer_config.json.
  std::optional<int64_t> most_tokens;
  bool lowers_case = false;  // from do_lower_case: texts are lower-cased before the tokenizer
  bool pools_prompt = true;  // from include_prompt: pooling includes a prompt's tokens
  std::string prompt;        // put before each text: the default one of the folder's prompts
};

// Reads modules.json and the files that it names. Returns nullopt if there is no modules.json.
// Throws Error naming file and key unless the modules are a Transformer, a Pooling and perhaps a
// Normalize in this order. Also throws Error for a path that leaves the folder, if no pooling mode
// is set, and if the transformer's settings ask for anything but the last layer's states of the
// text alone, such as a chat template.
std::optional<SentenceFolder> read_sentence_folder(const std::filesystem::path& folder);

}  // namespace reprise::sentence
