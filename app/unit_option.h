// Quantities with units, as they are typed and as they are shown: bytes, and spans of time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reprise::app {

// "1500", "10 MB" (10^6), "1.5GiB" (2^30): a number of 0 or more and B, kB, MB, GB, TB, KiB, MiB,
// GiB or TiB, in either case of letters; bytes without a unit. Throws Error with
// the option's name and what is accepted.
int64_t parse_bytes(std::string_view text, std::string_view option);

// "90s", "15 min", "12h", "30d": a number of 0 or more and a unit, in seconds. Throws Error
// with the option's name and what is accepted.
int64_t parse_seconds(std::string_view text, std::string_view option);

std::string bytes_text(int64_t bytes);   // "512 B", "1.50 MiB"
std::string span_text(int64_t seconds);  // "41 s", "15 min", "12 h", "30 d"

}  // namespace reprise::app
