// The settings of tokenizer_config.json: bos and eos tokens, whether to add them, the tokens added
// to the vocabulary, and the chat template.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/tokenizer/added_tokens.h"

namespace reprise::tokenizer {

struct TokenizerConfig {
  std::string source;  // the file that was read; "" if there is none
  std::string tokenizer_class;
  std::optional<std::string> bos_token, eos_token;
  std::optional<bool> add_bos_token, add_eos_token;
  // From model_max_length: limit on the tokens of a text. Also unset if the file's number is above
  // 2^31, such as 1e30, which stands for no limit.
  std::optional<int64_t> most_tokens;
  // The tokens that transformers finds in texts: those of added_tokens_decoder, or else of
  // added_tokens.json, and the special tokens that the settings name.
  std::vector<SettingsToken> added_tokens;
  // Tokens that open and close each text of a SentencePiece model. Set by the loader, not by the
  // file.
  std::optional<std::pair<std::string, std::string>> surrounding;
  // A Jinja template, from chat_template.jinja if that file exists, else from
  // tokenizer_config.json. If there are several templates, the one named "default".
  std::optional<std::string> chat_template;

  // True for transformers' Llama, CodeLlama and Gemma classes. They obey add_bos_token and
  // add_eos_token, whatever the post-processor says.
  [[nodiscard]] bool is_llama_family() const {
    return tokenizer_class.starts_with("LlamaTokenizer") ||
           tokenizer_class.starts_with("CodeLlamaTokenizer") ||
           tokenizer_class.starts_with("GemmaTokenizer");
  }
};

// Reads tokenizer_config.json, added_tokens.json and chat_template.jinja in `folder`. A setting
// that no file has stays unset. Other keys are ignored.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder);

// Returns the note that the setting `key` names a token that the tokenizer lacks.
[[nodiscard]] std::string missing_token_note(const TokenizerConfig& config, const char* key,
                                             const std::string& token);

// Throws Error for the first of config.added_tokens that the tokenizer of the file `source` does
// not find in texts, according to `finds`.
void check_added_tokens(const TokenizerConfig& config, const std::string& source,
                        const std::function<bool(const std::string&)>& finds);

}  // namespace reprise::tokenizer
