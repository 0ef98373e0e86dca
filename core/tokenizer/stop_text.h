// Texts that end a generation, found in text that comes in pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reprise::tokenizer {

// What is shown does not depend on how the text was cut: the stop text that is whole first counts,
// of several that are whole with the same byte the longest, and nothing of it is shown.
class StopText {
 public:
  // None empty.
  explicit StopText(std::vector<std::string> stops);

  // The text that can be shown now: no stop text can begin in it any more. "" once one was found.
  std::string push(std::string_view text);
  // The rest, where the text ends without one.
  std::string flush();
  // The stop text that was found; "": none yet.
  [[nodiscard]] const std::string& found() const { return found_; }

 private:
  [[nodiscard]] size_t held_back() const;

  std::vector<std::string> stops_;
  std::string pending_;  // that may be the beginning of a stop text
  std::string found_;
};

}  // namespace reprise::tokenizer
