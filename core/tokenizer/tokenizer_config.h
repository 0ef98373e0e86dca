// What tokenizer_config.json says beside a tokenizer: its bos and eos tokens and whether to add
// them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace reprise::tokenizer {

struct TokenizerConfig {
  std::string source;  // the file, "" if there is none
  std::string tokenizer_class;
  std::optional<std::string> bos_token, eos_token;
  std::optional<bool> add_bos_token, add_eos_token;

  // transformers' Llama, CodeLlama and Gemma classes follow the two flags whatever the
  // post-processor.
  [[nodiscard]] bool is_llama_family() const {
    return tokenizer_class.starts_with("LlamaTokenizer") ||
           tokenizer_class.starts_with("CodeLlamaTokenizer") ||
           tokenizer_class.starts_with("GemmaTokenizer");
  }
};

// Reads tokenizer_config.json in `folder`; nothing is set where there is none. Other keys are for
// other programs and not looked at.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder);

}  // namespace reprise::tokenizer
