// The normalizers of tokenizer.json, which change the text before it is cut into pieces.
#pragma once

#include <memory>
#include <string>

#include "core/tokenizer/json_place.h"

namespace reprise::tokenizer {

struct NormalizedText {
  std::string text;
  // True if `text` starts at the beginning of the input, or with characters that were put before
  // it.
  bool is_start = false;
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(NormalizedText& text) const = 0;
};

// Supports NFC NFD NFKC NFKD Lowercase StripAccents Replace Prepend Strip Sequence BertNormalizer
// ByteLevel. Throws Error naming a component or option that is not supported.
std::unique_ptr<Normalizer> make_normalizer(const JsonPlace& place);

}  // namespace reprise::tokenizer
