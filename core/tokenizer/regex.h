// Regular expressions of tokenizer files: compiled once, matched with bounded time and memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::tokenizer {

// Bytes [begin, end) of a text: a match of a pattern, or the text between two matches.
struct Span {
  size_t begin = 0, end = 0;
  bool is_match = false;
};

// Compiled with PCRE2 (UTF, Unicode properties), just in time where the machine supports that.
class Regex {
 public:
  // `pattern` is in Oniguruma's syntax. `where` ("file: key ...") is the beginning of every error.
  Regex(std::string_view pattern, std::string where);
  // Returns a pattern that matches exactly `text`, which must not be empty.
  static Regex literal(std::string_view text, std::string where);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  // Appends spans that cover `text` in order: the matches, leftmost first, and the text between
  // them. An empty match is kept unless it touches the match before it. `text` must be valid UTF-8.
  // Throws Error if a match needs more than the allowed steps or memory. Thread-safe.
  void find_all(std::string_view text, std::vector<Span>& spans) const;

 private:
  struct Code;
  Regex() = default;
  std::unique_ptr<Code> code_;
};

}  // namespace reprise::tokenizer
