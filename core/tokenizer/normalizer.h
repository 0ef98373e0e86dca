// The normalizers of tokenizer.json: what happens to the text before it is cut.
#pragma once

#include <memory>
#include <string>

#include "core/tokenizer/json_place.h"

namespace reprise::tokenizer {

struct NormalizedText {
  std::string text;
  bool is_start = false;  // its first character is (or was put before) the first of the input
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(NormalizedText& text) const = 0;
};

// Supported: NFC NFD NFKC NFKD Lowercase StripAccents Replace Prepend Strip Sequence BertNormalizer
// ByteLevel. Throws Error naming the component or option that is not.
std::unique_ptr<Normalizer> make_normalizer(const JsonPlace& place);

}  // namespace reprise::tokenizer
