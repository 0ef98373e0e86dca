// The alphabet of byte-level BPE. It writes every byte as one printable character, so that
// vocabularies are text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reprise::tokenizer {

// Bytes that print in Latin-1 stand for themselves; the other 68 become U+0100, U+0101, ... in
// order (so a space is U+0120).
void append_byte_level(std::string& out, unsigned char byte);
// Returns the byte that `code` stands for, or -1.
int byte_of(char32_t code);
// Appends the bytes of a token, or its own UTF-8 if one of its characters is not in the alphabet.
void append_bytes_of_token(std::string& out, std::string_view token);

}  // namespace reprise::tokenizer
