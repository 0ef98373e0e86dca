// Makes text from a file safe to print on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace reprise {

// Returns `text` with everything escaped that could control a terminal. Line feed, carriage return
// and tab become \n, \r and \t. Other control characters (C0, DEL, C1) and bytes that are not UTF-8
// become \xHH, byte by byte. Control characters in `kept` stay unescaped.
[[nodiscard]] std::string visible(std::string_view text, std::string_view kept = "\n\t");

}  // namespace reprise
