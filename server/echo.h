// The text of a prompt, for answers that begin with it (the API's option "echo").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace reprise::server {

struct Echo {
  std::string text;
  std::vector<int64_t> offsets;  // [tokens]  characters of `text` before the token's text
};

// Returns the text that `prompt` decodes to, without special tokens. If the last character is
// incomplete, it is left out, because the answer's first tokens may complete it.
Echo echo_of(const Tokenizer& tokenizer, std::span<const int32_t> prompt);

}  // namespace reprise::server
