// How a text is prepared for the model: its prompt, its case, special tokens, and the limit on its
// length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace reprise::sentence {

// Text that surrounds each text: "before{text}after".
struct Prompt {
  std::string before, after;
  // Splits `given` at "{text}". Throws Error unless "{text}" occurs exactly once; `where` names the
  // prompt in this error.
  static Prompt parse(std::string_view given, const std::string& where);
};

struct TextForm {
  Prompt prompt;
  bool strips_space = false;  // apply Python's str.strip() to the text with its prompt
  bool lowers_case = false;   // apply Python's str.lower() to the text with its prompt
  int64_t most_tokens = 0;    // limit on the tokens, special tokens included; 0: none
  bool may_cut = true;        // true: a longer text is cut; false: it is an error
};

struct TextTokens {
  std::vector<int32_t> ids;
  // Number of tokens of the whole text: more than ids.size() if the text was cut. If the text is
  // longer than TextTokenizer::most_bytes(), only its first bytes are counted.
  int64_t given = 0;
  [[nodiscard]] bool was_cut() const { return given > static_cast<int64_t>(ids.size()); }
};

class TextTokenizer {
 public:
  // `tokenizer` must outlive this object. Throws Error if most_tokens leaves no room for a text
  // beside the special tokens and the prompt.
  TextTokenizer(const Tokenizer& tokenizer, TextForm form);

  // Returns the tokens of a text. A text that is too long keeps its first tokens (its last ones if
  // the tokenizer truncates left) and the special tokens around them, as in sentence-transformers.
  // Throws Error for bytes that are not UTF-8, for an empty or blank text, and for a text that is
  // too long if may_cut is false or if cutting would lose words of the prompt.
  [[nodiscard]] TextTokens tokens_of(std::string_view text) const;
  // Upper bound on the bytes of a text that tokens_of() reads. A longer text must be cut in any
  // case, so its other bytes are not read. If the bytes that are read give too few tokens (as white
  // space does), or if the text's end is to be kept, tokens_of() throws Error.
  [[nodiscard]] size_t most_bytes() const { return most_bytes_; }
  // Numbers of special tokens before and after every text.
  [[nodiscard]] int64_t special_before() const { return static_cast<int64_t>(first_.size()); }
  [[nodiscard]] int64_t special_after() const { return static_cast<int64_t>(last_.size()); }
  // Number of tokens that the prompt adds to a short text.
  [[nodiscard]] int64_t prompt_tokens() const { return prompt_tokens_; }

 private:
  // Returns the text if it has at most most_bytes() bytes. Otherwise returns its first most_bytes()
  // bytes, or a few less so that no character is cut.
  [[nodiscard]] std::string_view beginning_of(std::string_view text) const;
  [[nodiscard]] std::string formed(std::string_view text) const;
  [[nodiscard]] int64_t around() const {
    return static_cast<int64_t>(first_.size() + last_.size());
  }

  const Tokenizer& tokenizer_;
  TextForm form_;
  size_t most_bytes_;
  std::vector<int32_t> first_, last_;  // special tokens around every text
  int64_t prompt_tokens_ = 0;
};

}  // namespace reprise::sentence
