#include "server/token_texts.h"

#include <array>
#include <vector>

namespace reprise::server {

// Decoders drop the space before a text's first word, so that a token is read behind another.
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

}  // namespace reprise::server
