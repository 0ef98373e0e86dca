// Makes text from a file safe to print on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace reprise {

// Returns `text` with everything escaped that could control a terminal: line feed, carriage return
// and tab as \n, \r and \t; other control characters (C0, DEL, C1) and bytes that are not UTF-8 as
// \xHH, byte by byte. Control characters in `kept` stay as they are.
[[nodiscard]] std::string visible(std::string_view text, std::string_view kept = "\n\t");

}  // namespace reprise
