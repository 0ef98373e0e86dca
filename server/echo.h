// The text of a prompt, for answers that begin with it (the API's option "echo").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/tokenizer/tokenizer.h"
#include "server/token_texts.h"

namespace reprise::server {

struct Echo {
  std::string text;
  std::vector<int64_t> offsets;  // [tokens]  characters of `text` before the token's text
};

// Returns `given`, the text from which `prompt` was encoded, with the offsets of the tokens in it.
// If `given` is "", returns the text that `prompt` decodes to, without special tokens and without
// an incomplete last character, which the answer's first tokens may complete.
Echo echo_of(const Tokenizer& tokenizer, const TokenTexts& texts, std::span<const int32_t> prompt,
             const std::string& given);

}  // namespace reprise::server
