// What PML needs of a tokenizer, as functions, so that positions can be checked by counting words.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace reprise::pml {

struct TextEncoder {
  // Ids of a text without anything added around it.
  std::function<std::vector<int32_t>(std::string_view)> encode;
  // Stands at each position of a parameter while its module is encoded: <unk> in the paper.
  int32_t placeholder = 0;
  std::optional<int32_t> bos, eos;
  // What the tokenizer itself puts before a text: <s>, or nothing.
  std::vector<int32_t> opening;
};

// `tokenizer` must outlive the encoder. The placeholder is <unk> or [UNK]; a vocabulary of bytes
// has neither, and a space takes its place (the paper's reason for <unk> is that white space does
// not change what a prompt means). [Prompt Cache §3.3]
TextEncoder encoder_of(const Tokenizer& tokenizer);

// Makes no tokens: for what can be checked without a tokenizer, with the chat template "plain".
TextEncoder no_tokens();

}  // namespace reprise::pml
