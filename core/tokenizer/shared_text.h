// Encodes many texts that begin alike, without encoding their beginning each time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace reprise {

// The tokens of a text, and of the text followed by another one.
//
// Only the text's last lines are encoded again, together with the text that follows. If eight
// tokens in a row are the same there as in the tokens of the text alone, the two lists are joined
// at these; else everything is encoded. The joined list is exact: BPE merges depend on neighbours
// only, so every two neighbours need only be neighbours in one of the lists; other tokenizers
// encode each word by itself.
class SharedText {
 public:
  // `tokenizer` must outlive this. Throws Error as Tokenizer::encode().
  SharedText(const Tokenizer& tokenizer, std::string text, EncodeOptions options = {});

  // The tokens of the text alone.
  [[nodiscard]] const std::vector<int32_t>& tokens() const { return tokens_; }
  // Returns Tokenizer::encode(text + behind). Throws Error as it does.
  [[nodiscard]] std::vector<int32_t> encode(std::string_view behind) const;

 private:
  const Tokenizer& tokenizer_;
  std::string text_;
  EncodeOptions options_;
  std::vector<int32_t> tokens_;  // of the text
  size_t tail_begin_ = 0;        // byte of text_ where its last lines begin
  std::vector<int32_t> tail_;    // tokens of the last lines; empty: encode whole texts
  size_t alike_ = 0;             // number of last tokens that tokens_ and tail_ have in common
};

}  // namespace reprise
