// A run of text between two elements that have positions of their own. It is tokenized as a whole.
//
// White space [docs/pml.md] belongs to the text that follows it. Before a text it becomes one
// space. If no text follows it is dropped, but an argument that follows begins with a space. It is
// also dropped at the beginning of a schema and next to a turn's marker, which brings its own.
// Inside a text and in CDATA it is kept. Under Rules::kAsCoded it becomes one space at either end
// of the run, and a run of white space alone is one space; in a prompt, these spaces are dropped.
#pragma once

#include <string>
#include <vector>

#include "methods/prompt_cache/pml/encoder.h"
#include "methods/prompt_cache/pml/turn_template.h"

namespace reprise::pml {

// Collects texts and markers of turns in document order, and trims their white space.
class TextRun {
 public:
  // `is_of_prompt`: the runs are those of a prompt, otherwise of a schema.
  TextRun(const TurnTemplate& chosen, const TextEncoder& encoder, Rules rules, bool is_of_prompt)
      : template_(chosen), encoder_(encoder), rules_(rules), is_of_prompt_(is_of_prompt) {}

  void add(const Text& text);
  // One end of a turn, or <system/>. Throws Error if its marker has <s> or </s> and the tokenizer
  // lacks that token.
  void add_marker(Role role, Part part, Place place);

  struct Tokens {
    std::vector<int32_t> ids;
    Place place;                 // place of the first text or marker that yields tokens
    bool is_blank = true;        // the run held nothing but white space
    bool ends_in_space = false;  // an argument that follows begins with a space
  };
  // Returns the run's tokens and empties it. `is_beginning`: no element precedes the run.
  Tokens finish(bool is_beginning);

  [[nodiscard]] bool is_empty() const { return items_.empty(); }

 private:
  enum class Kind : uint8_t { kText, kVerbatim, kMarker, kSpecial };
  struct Item {
    Kind kind = Kind::kText;
    std::string text;
    std::vector<int32_t> ids;  // tokens of a kSpecial item
    Place place;
  };

  void add_marker(const Marker& marker, Place place);
  void add_special(Special special, Place place);
  std::string trimmed(size_t first, size_t end, bool is_beginning, bool& ends_in_space) const;
  void trim(bool is_beginning, bool& ends_in_space);
  void trim_as_coded();
  [[nodiscard]] std::vector<int32_t> encode() const;

  const TurnTemplate& template_;
  const TextEncoder& encoder_;
  Rules rules_;
  bool is_of_prompt_;
  std::vector<Item> items_;
};

}  // namespace reprise::pml
