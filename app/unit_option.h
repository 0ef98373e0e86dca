// Parses and formats quantities with units: bytes and durations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reprise::app {

// Parses "1500", "10 MB" (10^7 bytes) or "1.5GiB" (1.5 * 2^30 bytes): a number of 0 or more and a
// unit, which is B, kB, MB, GB, TB, KiB, MiB, GiB or TiB in upper or lower case. Without a unit the
// number counts bytes. Throws Error with the option's name and the accepted values.
int64_t parse_bytes(std::string_view text, std::string_view option);

// Parses "90s", "15 min", "12h" or "30d", a number of 0 or more and a unit, and returns seconds.
// Throws Error with the option's name and the accepted values.
int64_t parse_seconds(std::string_view text, std::string_view option);

std::string bytes_text(int64_t bytes);   // "512 B", "1.50 MiB"
std::string span_text(int64_t seconds);  // "41 s", "15 min", "12 h", "30 d"

}  // namespace reprise::app
