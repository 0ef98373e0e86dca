// Lower case of ASCII letters, whatever the locale.
#pragma once

#include <string>

namespace reprise {

// Returns `text` with A to Z in lower case. Leaves all other bytes, so UTF-8 stays valid.
inline std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace reprise
