// The byte order mark with which some editors begin files in UTF-8. Readers skip it.
#pragma once

#include <string_view>

namespace reprise {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Returns the text behind a byte order mark, or all of a text that begins without one.
constexpr std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

}  // namespace reprise
