// The pre-tokenizers of tokenizer.json, which cut the normalized text into pieces for the model.
#pragma once

#include <memory>

#include "core/tokenizer/json_place.h"
#include "core/tokenizer/pieces.h"

namespace reprise::tokenizer {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) const = 0;
};

// Supports Split Digits Punctuation ByteLevel Metaspace Sequence BertPreTokenizer Whitespace
// WhitespaceSplit CharDelimiterSplit. Throws Error naming a component or option that is not
// supported.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonPlace& place);

// Options of Metaspace, which its pre-tokenizer and its decoder have in common.
struct MetaspaceOptions {
  enum class Prepend : uint8_t { kAlways, kFirst, kNever };
  std::string replacement;  // one character
  Prepend prepend = Prepend::kAlways;
  bool split = true;
};
MetaspaceOptions read_metaspace(const JsonPlace& place, JsonObject& object);

}  // namespace reprise::tokenizer
