// Encodes many texts that begin alike, without encoding their beginning each time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace reprise {

// A text's tokens, and those of the text with something behind it.
//
// Only the text's last lines are encoded anew, together with what follows. Several tokens in a row
// must turn out as in the whole text; there the two lists are joined. BPE merges look at neighbours
// alone, so a list is right if every two neighbours in it are neighbours in a right list; other
// tokenizers encode words by themselves. Where no tokens turn out alike, the whole text is encoded.
class SharedText {
 public:
  // `tokenizer` must outlive this. Throws Error as Tokenizer::encode().
  SharedText(const Tokenizer& tokenizer, std::string text, EncodeOptions options = {});

  // The tokens of the text alone.
  [[nodiscard]] const std::vector<int32_t>& tokens() const { return tokens_; }
  // Tokenizer::encode(text + behind). Throws Error as it does.
  [[nodiscard]] std::vector<int32_t> encode(std::string_view behind) const;

 private:
  const Tokenizer& tokenizer_;
  std::string text_;
  EncodeOptions options_;
  std::vector<int32_t> tokens_;  // of the text
  size_t tail_begin_ = 0;        // byte of text_ where its last lines begin
  std::vector<int32_t> tail_;    // tokens of the last lines; none if these do not help
  size_t alike_ = 0;             // last tokens that tokens_ and tail_ have in common
};

}  // namespace reprise
