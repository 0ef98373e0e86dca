// A run of text: what stands between two elements that have positions of their own, and becomes
// tokens as a whole.
#pragma once

#include <string>
#include <vector>

#include "methods/prompt_cache/pml/turn_template.h"

namespace reprise::pml {

// Texts and markers of turns in the order in which they stand.
//
// White space [docs/pml.md]: it belongs to the text that follows it. Before a text it becomes one
// space; where no text follows it is dropped, but an argument that follows begins with the space.
// At the beginning of a schema and beside a turn's marker it is dropped, for the marker brings its
// own. Inside a text, and in CDATA, it stays. Rules::kAsCoded: at either end of the run it becomes
// one space, and a run of nothing else is one space.
class TextRun {
 public:
  TextRun(const TurnTemplate& chosen, const TextEncoder& encoder, Rules rules)
      : template_(chosen), encoder_(encoder), rules_(rules) {}

  void add(const Text& text);
  // One end of a turn, or <system/>.
  void add_marker(Role role, Part part, Place place);

  struct Tokens {
    std::vector<int32_t> ids;
    Place place;                 // of the first text or marker that brings any
    bool is_blank = true;        // white space was all there was
    bool ends_in_space = false;  // an argument that follows begins with a space
  };
  // The run's tokens; afterwards it is empty. `is_beginning`: nothing stands before it.
  Tokens finish(bool is_beginning);

  [[nodiscard]] bool is_empty() const { return items_.empty(); }

 private:
  enum class Kind : uint8_t { kText, kVerbatim, kMarker, kSpecial };
  struct Item {
    Kind kind = Kind::kText;
    std::string text;
    std::vector<int32_t> ids;  // of kSpecial
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
  std::vector<Item> items_;
};

}  // namespace reprise::pml
