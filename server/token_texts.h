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
  // The bytes of text_of(), or the token's own bytes if it is only part of a character.
  [[nodiscard]] std::string bytes_of(int32_t token) const;
  // A key for the token among those that `taken` knows: its text, or "bytes:\xe2" if it is only
  // part of a character; "token_id:7" if that key is already taken.
  [[nodiscard]] std::string key_of(int32_t token,
                                   const std::function<bool(const std::string&)>& taken) const;

 private:
  const Tokenizer& tokenizer_;
  int32_t anchor_ = -1;  // token put before others so that they keep their space; -1: none
  std::string anchor_text_;
};

}  // namespace reprise::server
