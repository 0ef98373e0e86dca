// Searches text that arrives in pieces for the texts that end a generation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reprise::tokenizer {

// Returns the text before the first stop text, however the text is cut into pieces. The stop text
// that is complete first ends the text; if several are complete at the same byte, the longest
// counts. No part of the stop text is returned.
class StopText {
 public:
  // No stop text may be empty.
  explicit StopText(std::vector<std::string> stops);

  // Appends `text`. Returns the text that can be shown now because no stop text can begin in it.
  // Returns "" after a stop text was found. With `may_end` false, a stop text that is complete
  // within `text` is ordinary text; a later text may still complete one that begins in `text`.
  std::string push(std::string_view text, bool may_end = true);
  // Ends the text. Returns the part that push() held back, unless a stop text was found.
  std::string flush();
  // Returns the stop text that was found, or "" if none has been found yet.
  [[nodiscard]] const std::string& found() const { return found_; }

 private:
  [[nodiscard]] size_t held_back() const;

  std::vector<std::string> stops_;
  std::string pending_;  // end of the text so far that may be the beginning of a stop text
  std::string found_;
};

}  // namespace reprise::tokenizer
