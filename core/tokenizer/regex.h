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

// A pattern compiled with PCRE2 (UTF, Unicode properties), to machine code if PCRE2 supports the
// machine.
class Regex {
 public:
  // `pattern` is in Oniguruma's syntax. Every error begins with `where` ("file: key ...").
  Regex(std::string_view pattern, std::string where);
  // Returns a pattern that matches exactly `text`, which must not be empty.
  static Regex literal(std::string_view text, std::string where);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  // Appends spans that cover `text` in order: the matches, leftmost first, and the text between
  // them. An empty match is kept unless it touches the previous match. `text` must be valid UTF-8.
  // Throws Error if a match needs more than the allowed number of steps or memory. Thread-safe.
  void find_all(std::string_view text, std::vector<Span>& spans) const;

 private:
  struct Code;
  Regex() = default;
  std::unique_ptr<Code> code_;
};

}  // namespace reprise::tokenizer
