// The settings of tokenizer_config.json and of the files beside it: special tokens, tokens added to
// the vocabulary, options of the tokenizer's class, and the chat template.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/value.h"
#include "core/tokenizer/added_tokens.h"

namespace reprise::tokenizer {

struct TokenizerConfig {
  std::string source;           // the file that was read; "" if there is none
  std::string tokenizer_class;  // from the file, or else from config.json beside it
  std::optional<std::string> bos_token, eos_token;
  bool has_no_bos = false, has_no_eos = false;  // null in the files; tokenizer.json obeys this
  std::optional<bool> add_bos_token, add_eos_token;
  // LlamaTokenizer's, which tokenizer.model obeys: whether a text behind a special token gets a
  // space mark, and whether any text does. tokenizer.json decides this itself.
  bool legacy = true, add_prefix_space = true;
  // From model_max_length: limit on the tokens of a text. Also unset if the file's number is above
  // 2^31, such as 1e30, which stands for no limit.
  std::optional<int64_t> most_tokens;
  std::optional<bool> truncates_left;  // from truncation_side
  // The tokens that transformers finds in texts: those of added_tokens_decoder, or else of
  // added_tokens.json, and the special tokens that the settings name.
  std::vector<SettingsToken> added_tokens;
  // Tokens that open and close each text of a SentencePiece model. Set by the loader, not by the
  // file.
  std::optional<std::pair<std::string, std::string>> surrounding;
  // Options of tokenizer.json's BertNormalizer and of its ByteLevel pre-tokenizer that the class
  // replaces, as BERT's and RoBERTa's classes of transformers do.
  Fields bert_options, byte_level_options;
  bool splits_special = false;  // from split_special_tokens: special tokens in texts are plain text
  // A Jinja template, from chat_template.jinja if that file exists, else from
  // tokenizer_config.json. If there are several templates, the one named "default".
  std::optional<std::string> chat_template;

  // True if tokenizer_class is one of `names`, with or without "Fast" behind it.
  [[nodiscard]] bool is_class(std::initializer_list<std::string_view> names) const;
  // True for those classes of transformers 4 that obey add_bos_token and add_eos_token, whatever
  // the post-processor says.
  [[nodiscard]] bool obeys_bos_and_eos() const {
    return is_class({"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "GPTNeoXTokenizer"});
  }
};

// Reads tokenizer_config.json, added_tokens.json, special_tokens_map.json and chat_template.jinja
// in `folder`. A setting that no file has stays unset. Other keys are ignored.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder);

// Returns the note that the setting `key` names a token that the tokenizer lacks.
[[nodiscard]] std::string missing_token_note(const TokenizerConfig& config, const char* key,
                                             const std::string& token);

// Throws Error for the first of config.added_tokens that the tokenizer of the file `source` does
// not find in texts, according to `finds`.
void check_added_tokens(const TokenizerConfig& config, const std::string& source,
                        const std::function<bool(const std::string&)>& finds);

}  // namespace reprise::tokenizer
