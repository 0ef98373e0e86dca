// The byte-level alphabet as two tables: from byte to character and back.
#include "core/tokenizer/byte_level.h"

#include <array>

#include "core/tokenizer/utf8.h"

namespace reprise::tokenizer {
namespace {

struct Alphabet {
  std::array<char32_t, 256> code{};
  std::array<int16_t, 0x144> byte{};  // 0x100 + 68 characters
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (auto& byte : alphabet.byte) byte = -1;
  char32_t next = 0x100;
  for (int b = 0; b < 256; ++b) {
    const bool prints = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    const char32_t code = prints ? static_cast<char32_t>(b) : next++;
    alphabet.code[static_cast<size_t>(b)] = code;
    alphabet.byte[code] = static_cast<int16_t>(b);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

void append_byte_level(std::string& out, unsigned char byte) {
  const char32_t code = kAlphabet.code[byte];
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else {
    out.push_back(static_cast<char>(0xC0 | code >> 6));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  }
}

int byte_of(char32_t code) { return code < kAlphabet.byte.size() ? kAlphabet.byte[code] : -1; }

void append_bytes_of_token(std::string& out, std::string_view token) {
  const size_t before = out.size();
  for (size_t at = 0; at < token.size();) {
    const Utf8Char c = utf8_at(token, at);
    const int byte = byte_of(c.code);
    if (byte < 0) {
      out.resize(before);
      out += token;
      return;
    }
    out.push_back(static_cast<char>(byte));
    at += c.bytes;
  }
}

}  // namespace reprise::tokenizer
