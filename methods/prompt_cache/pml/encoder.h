// The part of a tokenizer that PML uses. Tests can replace it, for example to count words.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace reprise::pml {

struct TextEncoder {
  // Token ids of a text, without special tokens added around it.
  std::function<std::vector<int32_t>(std::string_view)> encode;
  // Token ids of a text that follows a special token. Null: `encode` gives them, too.
  std::function<std::vector<int32_t>(std::string_view)> encode_after_special = {};
  // Token that fills the positions of a parameter while its module is encoded: <unk> in the paper.
  int32_t placeholder = 0;
  std::optional<int32_t> bos, eos;
  // Tokens that the tokenizer itself puts before a text: <s>, or none.
  std::vector<int32_t> opening;
};

// Makes the encoder of a tokenizer. The tokenizer must outlive the encoder. The placeholder is
// <unk> or [UNK]. If the vocabulary has neither, such as a vocabulary of bytes, it is the first
// token of an encoded space, because the paper argues that white space does not change a prompt's
// meaning. Throws Error if none of these exists. [Prompt Cache §3.3]
TextEncoder encoder_of(const Tokenizer& tokenizer);

// An encoder that returns no tokens, for checks that need no tokenizer. Use the chat template
// "plain" with it.
TextEncoder no_tokens();

}  // namespace reprise::pml
