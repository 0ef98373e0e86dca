// What tokenizer_config.json says beside a tokenizer: its bos and eos tokens, whether to add
// them, and how it writes conversations.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace reprise::tokenizer {

struct TokenizerConfig {
  std::string source;  // the file, "" if there is none
  std::string tokenizer_class;
  std::optional<std::string> bos_token, eos_token;
  std::optional<bool> add_bos_token, add_eos_token;
  // Tokens of a SentencePiece model that open and close each text; not in the file.
  std::optional<std::pair<std::string, std::string>> surrounding;
  // Jinja: of chat_template.jinja beside it where there is one; of several, the one named default.
  std::optional<std::string> chat_template;

  // transformers' Llama, CodeLlama and Gemma classes follow the two flags whatever the
  // post-processor.
  [[nodiscard]] bool is_llama_family() const {
    return tokenizer_class.starts_with("LlamaTokenizer") ||
           tokenizer_class.starts_with("CodeLlamaTokenizer") ||
           tokenizer_class.starts_with("GemmaTokenizer");
  }
};

// Reads tokenizer_config.json in `folder`; what neither it nor chat_template.jinja says is not set.
// Other keys are for other programs and not looked at.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder);

}  // namespace reprise::tokenizer
