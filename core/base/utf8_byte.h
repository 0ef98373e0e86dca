// Tells where the characters of UTF-8 text begin.
#pragma once

namespace reprise {

// True for every byte of a character except its first.
[[nodiscard]] constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u;
}

}  // namespace reprise
