// Finds the texts that end a generation in text that arrives in pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reprise::tokenizer {

// Yields the text before the first stop text, however the text was cut into pieces. The stop text
// that is complete first ends the text; if several are complete at the same byte, the longest does.
// No part of it is returned.
class StopText {
 public:
  // No stop text may be empty.
  explicit StopText(std::vector<std::string> stops);

  // Returns the text that can be shown now because no stop text can begin in it. Returns "" after a
  // stop text was found.
  std::string push(std::string_view text);
  // Returns the rest of the text if it ends without a stop text.
  std::string flush();
  // The stop text that was found; "" if none has been yet.
  [[nodiscard]] const std::string& found() const { return found_; }

 private:
  [[nodiscard]] size_t held_back() const;

  std::vector<std::string> stops_;
  std::string pending_;  // may be the beginning of a stop text
  std::string found_;
};

}  // namespace reprise::tokenizer
