#include "server/token_texts.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <vector>

#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/utf8.h"

namespace reprise::server {

// Decoders drop the space before a text's first word, so each token is decoded behind an anchor.
TokenTexts::TokenTexts(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  const std::vector<int32_t> ids = tokenizer.encode("a", {.add_special = false});
  if (ids.empty()) return;
  anchor_ = ids.back();
  anchor_text_ = tokenizer.decode(std::array{anchor_}, {.skip_special = false});
}

std::string TokenTexts::text_of(int32_t token) const {
  if (anchor_ < 0) return tokenizer_.decode(std::array{token}, {.skip_special = false});
  const std::string both = tokenizer_.decode(std::array{anchor_, token}, {.skip_special = false});
  return both.starts_with(anchor_text_) ? both.substr(anchor_text_.size()) : both;
}

std::string TokenTexts::bytes_of(int32_t token) const {
  std::string text = text_of(token);
  if (text.find(tokenizer::kReplacement) == text.npos) return text;
  const std::string written = tokenizer_.token_text(token);
  unsigned char byte = 0;
  if (written.size() == 6 && written.starts_with("<0x") && written.ends_with('>') &&
      std::from_chars(written.data() + 3, written.data() + 5, byte, 16).ptr == written.data() + 5)
    return {static_cast<char>(byte)};
  std::string bytes;
  tokenizer::append_bytes_of_token(bytes, written);
  return bytes;
}

int64_t TokenTexts::earlier_characters(int32_t token, const std::string& text) const {
  if (!text.starts_with(tokenizer::kReplacement)) return 0;
  const std::string own = text_of(token);
  if (own.find(tokenizer::kReplacement) != own.npos || !text.ends_with(own)) return 0;
  return static_cast<int64_t>(tokenizer::utf8_length(text) - tokenizer::utf8_length(own));
}

std::string TokenTexts::key_of(int32_t token,
                               const std::function<bool(const std::string&)>& taken) const {
  std::string key = text_of(token);
  if (key.find(tokenizer::kReplacement) != key.npos) {
    key = "bytes:";
    for (const char c : bytes_of(token))
      key += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return taken(key) ? fmt::format("token_id:{}", token) : key;
}

}  // namespace reprise::server
