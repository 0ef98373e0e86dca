// The text of each single token, for lists of log probabilities.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/tokenizer/tokenizer.h"

namespace reprise::server {

class TokenTexts {
 public:
  // `tokenizer` must outlive this object.
  explicit TokenTexts(const Tokenizer& tokenizer);

  // Returns the token's text with its leading space. Returns its name for a special token, and
  // U+FFFD for a token that is only part of a character.
  [[nodiscard]] std::string text_of(int32_t token) const;
  // The bytes of text_of(), or the token's own bytes if it is only part of a character.
  [[nodiscard]] std::string bytes_of(int32_t token) const;
  // Returns how many characters of `text`, the text that a stream decoder returned for `token`,
  // belong to earlier tokens: one U+FFFD for each character that they left incomplete.
  [[nodiscard]] int64_t earlier_characters(int32_t token, const std::string& text) const;
  // Returns a key for the token in a JSON object: its text, or "bytes:\xe2" if the token is only
  // part of a character. Returns "token_id:7" for token 7 if `taken` is true of that key.
  [[nodiscard]] std::string key_of(int32_t token,
                                   const std::function<bool(const std::string&)>& taken) const;

 private:
  const Tokenizer& tokenizer_;
  int32_t anchor_ = -1;  // decoded before a token, so that its leading space is kept; -1: none
  std::string anchor_text_;
};

}  // namespace reprise::server
