// Replaces every occurrence of a text by another text.
#pragma once

#include <string>
#include <string_view>

namespace reprise::tokenizer {

// Works like Python's str.replace(): from left to right, without searching inserted text again.
// `from` must not be empty.
inline void replace_all(std::string& text, std::string_view from, std::string_view to) {
  size_t at = text.find(from);
  if (at == std::string::npos) return;
  std::string out;
  size_t copied = 0;
  for (; at != std::string::npos; at = text.find(from, copied)) {
    out.append(text, copied, at - copied);
    out += to;
    copied = at + from.size();
  }
  out.append(text, copied);
  text = std::move(out);
}

}  // namespace reprise::tokenizer
