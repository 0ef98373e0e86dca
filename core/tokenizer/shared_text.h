// Encodes many texts that have a common beginning, without encoding this beginning each time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace reprise {

// Encodes a text followed by other texts without encoding the text again each time.
// encode() tokenizes only the last lines of the text and what follows them. The tokens of the last
// lines alone end with the same tokens as tokens(). If the result begins with the tokens of the
// last lines up to the eighth of these common tokens, it is joined to tokens() there; otherwise the
// whole text is encoded. The joined list is exact: BPE depends only on adjacent tokens, and each
// adjacent pair lies within one of the two lists. Other tokenizers encode each word by itself.
class SharedText {
 public:
  // `tokenizer` must outlive this object. Throws Error as Tokenizer::encode() does.
  SharedText(const Tokenizer& tokenizer, std::string text, EncodeOptions options = {});

  // The tokens of the text without anything behind it.
  [[nodiscard]] const std::vector<int32_t>& tokens() const { return tokens_; }
  // Returns Tokenizer::encode(text + behind). Throws Error as Tokenizer::encode() does.
  [[nodiscard]] std::vector<int32_t> encode(std::string_view behind) const;

 private:
  const Tokenizer& tokenizer_;
  std::string text_;
  EncodeOptions options_;
  std::vector<int32_t> tokens_;  // tokens of text_
  size_t tail_begin_ = 0;        // byte of text_ where its last lines begin
  // Tokens of the last lines alone; if empty, whole texts are encoded.
  std::vector<int32_t> tail_;
  // Number of tokens at the end that tokens_ and tail_ have in common.
  size_t alike_ = 0;
};

}  // namespace reprise
