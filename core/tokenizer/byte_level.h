// The alphabet of byte-level BPE, which writes every byte as one printable character, so that a
// vocabulary of byte strings can be stored as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reprise::tokenizer {

// Appends the character of `byte`. Bytes that are printable in Latin-1 stand for themselves. The
// other 68 become U+0100, U+0101, ... in ascending order (so a space is U+0120).
void append_byte_level(std::string& out, unsigned char byte);
// Returns the byte that `code` stands for, or -1.
int byte_of(char32_t code);
// Appends the bytes for which the token's characters stand. If one of its characters is not in the
// alphabet, appends the token's UTF-8 instead.
void append_bytes_of_token(std::string& out, std::string_view token);

}  // namespace reprise::tokenizer
