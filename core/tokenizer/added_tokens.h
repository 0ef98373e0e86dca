// Tokens that are found in a text before it is processed further: <s>, <|im_start|>, runs of
// spaces.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/tokenizer/json_place.h"
#include "core/tokenizer/normalizer.h"
#include "core/tokenizer/vocabulary.h"

namespace reprise::tokenizer {

struct AddedToken {
  std::string content;
  // The text to which the token decodes: its content, which is normalized if is_normalized.
  std::string decoded;
  int32_t id = 0;
  bool is_special = false;  // true: decoding with skip_special leaves it out
  // True: its normalized content is searched in the normalized text.
  bool is_normalized = false;
  bool strips_left = false;     // a match includes the white space before it
  bool strips_right = false;    // a match includes the white space after it
  bool is_single_word = false;  // does not match inside a word
};

// A token that the settings beside a tokenizer file add.
struct SettingsToken {
  AddedToken token;       // its id is not used
  std::string source;     // the file that adds it
  bool replaces = false;  // true: its flags replace those in the list of tokenizer.json
  bool is_needed = true;  // true: a tokenizer that does not find it in texts is refused
};

// A part of a text: an added token, or (id < 0) the text between two added tokens.
struct TextPart {
  size_t begin = 0, end = 0;
  int32_t id = -1;
};

// Finds the longest string of a set that starts at a place of a text. Uses a trie whose first step
// is a table.
class TokenMatcher {
 public:
  TokenMatcher() { root_.fill(-1); }
  // A pattern that was added before keeps its first token.
  void add(std::string_view pattern, size_t token);
  [[nodiscard]] bool empty() const { return nodes_.empty(); }
  // Finds the first place at or after `from` at which a pattern starts, and the longest pattern
  // there. Returns false if there is none.
  bool find(std::string_view text, size_t from, size_t& begin, size_t& end, size_t& token) const;

 private:
  struct Node {
    std::vector<std::pair<char, int32_t>> next;
    int64_t token = -1;
  };
  std::array<int32_t, 256> root_;
  std::vector<Node> nodes_;
};

// Reads a token's content and its flags, but not its id. `is_special` is the flag's default.
AddedToken read_added_token(JsonObject& object, bool is_special = false);

class AddedTokens {
 public:
  // Reads the list of added tokens. A token that is in the vocabulary keeps the vocabulary's id.
  // Other tokens are numbered from the vocabulary's end, as in Hugging Face's library. `notes`
  // receives a sentence for each id that differs from the id in the file. The tokens of `more` that
  // the list lacks and the vocabulary has come behind the list. Those that replace a token of the
  // list keep its id.
  AddedTokens(const JsonPlace& place, std::span<const SettingsToken> more,
              const Vocabulary& vocabulary, const Normalizer* normalizer,
              std::vector<std::string>& notes);

  // Appends the parts of `text` in order. If `raw`, finds the tokens that are not normalized,
  // otherwise the normalized ones.
  void split(std::string_view text, bool raw, std::vector<TextPart>& parts) const;

  [[nodiscard]] const AddedToken* find(int32_t id) const;
  [[nodiscard]] const AddedToken* find(std::string_view content) const;
  [[nodiscard]] int32_t end_id() const { return end_id_; }

 private:
  void add(AddedToken token, const Vocabulary& vocabulary);
  // Makes the token of this index findable. `where` is the list's place in the file.
  void match(size_t index, const std::string& where, const Normalizer* normalizer);

  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string, size_t> by_content_;
  std::unordered_map<int32_t, size_t> by_id_;
  TokenMatcher raw_;
  TokenMatcher normalized_;
  int32_t end_id_ = 0;
};

}  // namespace reprise::tokenizer
