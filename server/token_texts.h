// The text of each single token, for lists of log probabilities.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/tokenizer/tokenizer.h"

namespace reprise::server {

class TokenTexts {
 public:
  // `tokenizer` must outlive it.
  explicit TokenTexts(const Tokenizer& tokenizer);

  // The token's text with its leading space; the name of a special token; U+FFFD for a token that
  // is only part of a character.
  [[nodiscard]] std::string text_of(int32_t token) const;
  // The bytes of that text, and of a token that is only part of a character its own.
  [[nodiscard]] std::string bytes_of(int32_t token) const;
  // A text that only this token has among those that `taken` knows: its text; "bytes:\xe2" if it is
  // only part of a character; "token_id:7" if another token has taken that.
  [[nodiscard]] std::string key_of(int32_t token,
                                   const std::function<bool(const std::string&)>& taken) const;

 private:
  const Tokenizer& tokenizer_;
  int32_t anchor_ = -1;  // token put before others so that they keep their space; -1: none
  std::string anchor_text_;
};

}  // namespace reprise::server
