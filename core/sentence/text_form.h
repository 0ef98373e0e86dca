// How a text becomes what the model reads: the prompt around it, its case, its special tokens, and
// what happens where it is too long.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace reprise::sentence {

// What stands around each text: "before{text}after".
struct Prompt {
  std::string before, after;
  // Throws Error where "{text}" is not in it exactly once; `where` names its place.
  static Prompt parse(std::string_view given, const std::string& where);
};

struct TextForm {
  Prompt prompt;
  bool strips_space = false;  // white space around the text with its prompt is cut off
  bool lowers_case = false;
  int64_t most_tokens = 0;  // with what the tokenizer puts around them; 0: any number
  bool may_cut = true;      // a text that has more; else it is an error
};

struct TextTokens {
  std::vector<int32_t> ids;
  int64_t given = 0;  // tokens that the whole text takes; more than ids: it was cut
  [[nodiscard]] bool was_cut() const { return given > static_cast<int64_t>(ids.size()); }
};

class TextTokenizer {
 public:
  // `tokenizer` must outlive it. Throws Error where most_tokens leaves no room for a text.
  TextTokenizer(const Tokenizer& tokenizer, TextForm form);

  // Of a text that is too long, the first tokens are kept, and what the tokenizer puts around a
  // text stays around them, as sentence-transformers does. Throws Error
  //   - for bytes that are not UTF-8, with the offset of the first
  //   - for a text that is empty or white space: it has no token of its own
  //   - for one that is too long and may not be cut, or where a prompt follows the text: cutting
  //     would lose the prompt
  [[nodiscard]] TextTokens tokens_of(std::string_view text) const;

 private:
  [[nodiscard]] std::string formed(std::string_view text) const;
  [[nodiscard]] int64_t around() const {
    return static_cast<int64_t>(first_.size() + last_.size());
  }

  const Tokenizer& tokenizer_;
  TextForm form_;
  std::vector<int32_t> first_, last_;  // special tokens around every text
};

}  // namespace reprise::sentence
