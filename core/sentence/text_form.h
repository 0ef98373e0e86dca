// How a text is prepared for the model: its prompt, its case, special tokens, and the limit on its
// length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace reprise::sentence {

// Text put around each text: "before{text}after".
struct Prompt {
  std::string before, after;
  // Throws Error unless "{text}" occurs exactly once. `where` names the prompt in this error.
  static Prompt parse(std::string_view given, const std::string& where);
};

struct TextForm {
  Prompt prompt;
  bool strips_space = false;  // remove white space around the text with its prompt
  bool lowers_case = false;
  int64_t most_tokens = 0;  // limit, special tokens included; 0: none
  bool may_cut = true;      // cut a longer text; false: it is an error
};

struct TextTokens {
  std::vector<int32_t> ids;
  // Tokens of the whole text, more than ids.size() if it was cut. For a text
  // longer than TextTokenizer::most_bytes(), only its beginning counts.
  int64_t given = 0;
  [[nodiscard]] bool was_cut() const { return given > static_cast<int64_t>(ids.size()); }
};

class TextTokenizer {
 public:
  // `tokenizer` must outlive this object. Throws Error if most_tokens leaves no room for a text.
  TextTokenizer(const Tokenizer& tokenizer, TextForm form);

  // Returns the tokens of a text. A text that is too long keeps its first tokens and the special
  // tokens around them, as in sentence-transformers. Throws Error for bytes that are not UTF-8, for
  // an empty or blank text, and for one too long if may_cut is false or a prompt follows it (which
  // would be lost).
  [[nodiscard]] TextTokens tokens_of(std::string_view text) const;
  // Bytes of a text that tokens_of() reads. A longer text must be cut in any case, so its other
  // bytes are not read; if the first ones give too few tokens (as white space does), that is an
  // error.
  [[nodiscard]] size_t most_bytes() const { return most_bytes_; }

 private:
  // The text if it is short enough, otherwise its first most_bytes() or a few less, up to the end
  // of a character.
  [[nodiscard]] std::string_view beginning_of(std::string_view text) const;
  [[nodiscard]] std::string formed(std::string_view text) const;
  [[nodiscard]] int64_t around() const {
    return static_cast<int64_t>(first_.size() + last_.size());
  }

  const Tokenizer& tokenizer_;
  TextForm form_;
  size_t most_bytes_;
  std::vector<int32_t> first_, last_;  // special tokens around every text
};

}  // namespace reprise::sentence
