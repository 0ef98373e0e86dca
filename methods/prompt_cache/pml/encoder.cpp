#include "methods/prompt_cache/pml/encoder.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::pml {
namespace {

int32_t placeholder_of(const Tokenizer& tokenizer) {
  for (const char* name : {"<unk>", "[UNK]"})
    if (const auto id = tokenizer.token_id(name)) return *id;
  const std::vector<int32_t> space = tokenizer.encode(" ", {.add_special = false});
  if (space.empty())
    raise(
        "the tokenizer has no <unk>, and a space is no token of it: parameters have no "
        "placeholder");
  return space.front();
}

}  // namespace

TextEncoder encoder_of(const Tokenizer& tokenizer) {
  TextEncoder encoder;
  encoder.encode = [&tokenizer](std::string_view text) {
    return tokenizer.encode(text, {.add_special = false});
  };
  encoder.encode_after_special = [&tokenizer](std::string_view text) {
    return tokenizer.encode(text, {.add_special = false, .follows_special = true});
  };
  encoder.placeholder = placeholder_of(tokenizer);
  encoder.bos = tokenizer.bos_id();
  encoder.eos = tokenizer.eos_id();
  encoder.opening = tokenizer.encode("", {.add_special = true});
  // Some tokenizers encode an empty text as <s> </s>. The </s> does not belong to the opening.
  if (encoder.eos && encoder.eos != encoder.bos) std::erase(encoder.opening, *encoder.eos);
  return encoder;
}

TextEncoder no_tokens() {
  return {.encode = [](std::string_view) { return std::vector<int32_t>(); }};
}

}  // namespace reprise::pml
