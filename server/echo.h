// A prompt's text as a choice of an answer repeats it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace reprise::server {

struct Echo {
  std::string text;
  std::vector<int64_t> offsets;  // [tokens] characters of the text before each token's
};

// The text that `prompt` decodes to, without special tokens. A last character that is not complete
// is left out, because the answer's first tokens may complete it.
Echo echo_of(const Tokenizer& tokenizer, std::span<const int32_t> prompt);

}  // namespace reprise::server
