// Text that came from a file, made fit for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace reprise {

// `text` with everything that could steer a terminal written out: \n, \r and \t as such, other
// control characters (C0, DEL, C1) and bytes that are not UTF-8 as \xHH, byte by byte. The control
// characters of `kept` stay as they are.
[[nodiscard]] std::string visible(std::string_view text, std::string_view kept = "\n\t");

}  // namespace reprise
