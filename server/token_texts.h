// Tokens one by one as texts, for lists of log probabilities.
#pragma once

#include <cstdint>
#include <string>

#include "core/tokenizer/tokenizer.h"

namespace reprise::server {

class TokenTexts {
 public:
  // `tokenizer` must outlive it.
  explicit TokenTexts(const Tokenizer& tokenizer);

  // As the token reads inside a text, its leading space kept; special tokens by their names. Part
  // of a character is U+FFFD.
  [[nodiscard]] std::string text_of(int32_t token) const;

 private:
  const Tokenizer& tokenizer_;
  int32_t anchor_ = -1;  // a token that others are read behind, -1: none
  std::string anchor_text_;
};

}  // namespace reprise::server
