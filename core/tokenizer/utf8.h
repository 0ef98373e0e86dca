// UTF-8: checks text that comes from outside, iterates over its characters, and decodes bytes that
// may be cut anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reprise::tokenizer {

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// One character and the number of its bytes.
struct Utf8Char {
  char32_t code = 0;
  size_t bytes = 1;
};

// Returns the character that starts at text[at]. `text` must be valid UTF-8, and `at` <
// text.size().
Utf8Char utf8_at(std::string_view text, size_t at);
// Returns the character that ends before text[end]. `text` must be valid UTF-8, and `end` > 0.
Utf8Char utf8_before(std::string_view text, size_t end);
// Returns the number of characters of `text`, which must be valid UTF-8.
size_t utf8_length(std::string_view text);
void append_utf8(std::string& out, char32_t code);

// Throws Error at the first ill-formed sequence, with its byte offset and, if it is not in the
// first line, its line. `what` names the text in the error, such as its file.
void require_utf8(std::string_view text, std::string_view what);

// Turns bytes, which may arrive in pieces, into text. Each maximal ill-formed subsequence becomes
// one U+FFFD (the Unicode standard, §3.9). A character that is cut between two pushes is kept until
// it is complete.
class LossyUtf8 {
 public:
  void push(std::string_view bytes, std::string& out);
  void flush(std::string& out);  // an unfinished character becomes U+FFFD

 private:
  friend void require_utf8(std::string_view text, std::string_view what);
  enum class Step : uint8_t { kMore, kWhole, kBroken, kBrokenAgain };
  Step step(unsigned char byte);

  char pending_[4] = {};
  uint8_t held_ = 0;    // number of bytes in pending_
  uint8_t wanted_ = 0;  // number of bytes still missing
  uint8_t low_ = 0x80, high_ = 0xBF;
};

}  // namespace reprise::tokenizer
