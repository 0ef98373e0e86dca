// Rewrites, in one pass over a pattern, everything that PCRE2 would read differently than
// Oniguruma.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/tokenizer/regex_syntax.h"

#include <pcre2.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "core/base/error.h"

namespace reprise::tokenizer {
namespace {

constexpr std::string_view kSpaces =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}-\x{3000})";
constexpr std::string_view kNotSpaces =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
constexpr std::string_view kWord =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
// Outside of sets, Oniguruma counts six more characters of Latin-1 as word characters.
constexpr std::string_view kLatin1Numbers = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
constexpr int kMaxNesting = 100;

// POSIX classes that Oniguruma defines by other properties than PCRE2.
struct PosixClass {
  std::string_view name, items;
};
constexpr PosixClass kPosixClasses[] = {
    {"alpha", R"(\p{Alphabetic})"}, {"alnum", R"(\p{Alphabetic}\p{Nd})"},
    {"blank", R"(\x{9}\p{Zs})"},    {"lower", R"(\p{Lowercase})"},
    {"punct", R"(\p{P}\p{S})"},     {"space", kSpaces},
    {"upper", R"(\p{Uppercase})"},  {"word", kWord}};

// Returns whether this version of PCRE2 accepts the pattern.
bool compiles(const std::string& pattern) {
  int code = 0;
  size_t at = 0;
  pcre2_code* compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                       PCRE2_UTF | PCRE2_UCP, &code, &at, nullptr);
  pcre2_code_free(compiled);
  return compiled != nullptr;
}

class Translator {
 public:
  Translator(std::string_view pattern, std::string_view where) : in_(pattern), where_(where) {}

  std::string run() {
    while (at_ < in_.size()) step();
    return std::move(out_);
  }

 private:
  [[noreturn]] void unsupported(std::string_view what) const {
    raise("{}: the regular expression uses {} (at byte {}), which is not supported", where_, what,
          at_);
  }
  char peek(size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }
  void copy() { out_.push_back(in_[at_++]); }

  void step() {
    switch (peek()) {
      case '\\':
        return escape();
      case '[':
        return set(0);
      case '(':
        return group();
      case '{':
        return interval();
      default:
        return copy();
    }
  }

  // Reads {n}, {n,}, {n,m} or {,m}. Any other brace is literal in both dialects.
  void interval() {
    size_t end = at_ + 1;
    while (end < in_.size() &&
           (std::isdigit(static_cast<unsigned char>(in_[end])) != 0 || in_[end] == ','))
      ++end;
    if (end >= in_.size() || in_[end] != '}' || end == at_ + 1) return copy();
    if (end + 1 < in_.size() && in_[end + 1] == '+')
      unsupported("a '+' after {n,m}, which Oniguruma reads as another repetition");
    const std::string_view body = in_.substr(at_ + 1, end - at_ - 1);
    out_ += body.front() == ',' ? "{0" : "{";
    out_ += body;
    out_ += '}';
    at_ = end + 1;
  }

  void group() {
    // PCRE2 would read a verb, such as (*ACCEPT), here. In Oniguruma it is an error, since the '*'
    // has nothing to repeat.
    if (peek(1) == '*') {
      unsupported("\"(*\"");
    }
    copy();
    if (peek() != '?') return;
    if (peek(1) == '~') unsupported("the absent operator (?~");
    if (peek(1) == '#') {  // a comment
      while (at_ < in_.size() && peek() != ')') copy();
      return;
    }
    copy();
    // Reads options up to ':' or ')'. In Ruby's syntax, m means that a dot matches line breaks.
    size_t end = at_;
    while (end < in_.size() &&
           (in_[end] == '-' || std::isalpha(static_cast<unsigned char>(in_[end])) != 0))
      ++end;
    if (end == at_ || end >= in_.size() || (in_[end] != ':' && in_[end] != ')')) return;
    for (; at_ < end; ++at_) {
      const char option = peek();
      if (option != 'i' && option != 'm' && option != 'x' && option != '-')
        unsupported(fmt::format("the option '{}'", option));
      out_.push_back(option == 'm' ? 's' : option);
    }
  }

  static std::string bare_word() { return fmt::format("{}{}", kWord, kLatin1Numbers); }

  void append_set(std::string_view items, bool negated) {
    out_ += negated ? "[^" : "[";
    out_ += items;
    out_ += ']';
  }

  void escape() {
    switch (peek(1)) {
      case 's':
        append_set(kSpaces, false);
        break;
      case 'S':
        append_set(kSpaces, true);
        break;
      case 'w':
        append_set(bare_word(), false);
        break;
      case 'W':
        append_set(bare_word(), true);
        break;
      case 'h':
        out_ += "[0-9A-Fa-f]";
        break;
      case 'H':
        out_ += "[^0-9A-Fa-f]";
        break;
      case 'b':
      case 'B': {
        const std::string word = fmt::format("[{}]", bare_word());
        out_ += peek(1) == 'b' ? fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word)
                               : fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word);
        break;
      }
      default:
        return shared_escape();
    }
    at_ += 2;
  }

  // Rewrites the escapes that mean the same inside and outside a set.
  void shared_escape() {
    switch (peek(1)) {
      case 'd':
        out_ += "\\p{Nd}";
        at_ += 2;
        return;
      case 'D':
        out_ += "\\P{Nd}";
        at_ += 2;
        return;
      case 'v':
        out_ += "\\x0b";
        at_ += 2;
        return;
      case 'y':
      case 'Y':
        unsupported("\\y or \\Y");
      case 'p':
      case 'P':
        return property();
      case 'Q':
      // Ruby's syntax has no quoting (\Q...\E), so \Q and \E are plain letters.
      case 'E':
        out_.push_back(peek(1));
        at_ += 2;
        return;
      case 'u': {
        for (size_t i = 2; i < 6; ++i)
          if (std::isxdigit(static_cast<unsigned char>(peek(i))) == 0)
            unsupported("\\u without four hexadecimal digits");
        out_ += fmt::format("\\x{{{}}}", in_.substr(at_ + 2, 4));
        at_ += 6;
        return;
      }
      case '\0':
        if (at_ + 1 >= in_.size()) unsupported("a backslash at its end");
        [[fallthrough]];
      default:
        copy();
        copy();
    }
  }

  // Reads \p{NAME}. If NAME is a script, it stands for the characters of this script alone in
  // Oniguruma. In PCRE2 from 10.40 on, it also stands for characters that other scripts share with
  // this one, and \p{sc:NAME} stands for those of this script alone.
  void property() {
    const size_t end = in_.find('}', at_);
    if (peek(2) != '{' || end == std::string_view::npos)
      unsupported("\\p without a name in braces");
    std::string_view name = in_.substr(at_ + 3, end - at_ - 3);
    const bool is_negated = name.starts_with('^');
    if (is_negated) name.remove_prefix(1);
    const bool is_script = compiles(fmt::format("\\p{{sc:{}}}", name));
    out_ +=
        fmt::format("\\{}{{{}{}{}}}", peek(1), is_negated ? "^" : "", is_script ? "sc:" : "", name);
    at_ = end + 1;
  }

  // Reads a POSIX class such as [:alpha:], which ends at `end`.
  void posix_class(size_t end) {
    std::string_view name = in_.substr(at_ + 2, end - at_ - 2);
    const bool is_negated = name.starts_with('^');
    if (is_negated) name.remove_prefix(1);
    const auto* const known = std::find_if(std::begin(kPosixClasses), std::end(kPosixClasses),
                                           [&](const PosixClass& one) { return one.name == name; });
    if (known == std::end(kPosixClasses)) {
      out_ += in_.substr(at_, end + 2 - at_);
    } else if (is_negated || !compiles(fmt::format("[{}]", known->items))) {
      unsupported(fmt::format("the class {}", in_.substr(at_, end + 2 - at_)));
    } else {
      out_ += known->items;
    }
    at_ = end + 2;
  }

  // Reads a set, beginning at its '['. An inner set (depth > 0) is united with the outer one, so
  // its brackets are dropped.
  void set(int depth) {
    if (depth > kMaxNesting) unsupported("sets nested too deep");
    ++at_;
    if (depth == 0) out_ += '[';
    if (peek() == '^') {
      if (depth > 0) unsupported("a negated set inside a set");
      copy();
    }
    if (peek() == ']') {  // a ']' that comes first is literal
      out_ += "\\]";
      ++at_;
    }
    while (true) {
      if (at_ >= in_.size()) unsupported("a set without its ']'");
      const char c = peek();
      if (c == ']') {
        ++at_;
        if (depth == 0) out_ += ']';
        return;
      }
      if (c == '&' && peek(1) == '&') unsupported("the intersection of sets &&");
      if (c == '[' && peek(1) == ':') {
        const size_t end = in_.find(":]", at_ + 2);
        if (end != std::string_view::npos) {
          posix_class(end);
          continue;
        }
      }
      if (c == '[') {
        set(depth + 1);
      } else if (c == '\\') {
        set_escape();
      } else {
        copy();
      }
    }
  }

  void set_escape() {
    switch (peek(1)) {
      case 's':
        out_ += kSpaces;
        break;
      case 'S':
        out_ += kNotSpaces;
        break;
      case 'w':
        out_ += kWord;
        break;
      case 'W':
        unsupported("\\W inside a set");
      case 'h':
        out_ += "0-9A-Fa-f";
        break;
      case 'H':
        out_ += R"(\x{0}-/:-@G-`g-\x{10ffff})";
        break;
      default:
        return shared_escape();
    }
    at_ += 2;
  }

  std::string_view in_;
  std::string_view where_;
  std::string out_;
  size_t at_ = 0;
};

}  // namespace

std::string pcre2_syntax(std::string_view pattern, std::string_view where) {
  return Translator(pattern, where).run();
}

}  // namespace reprise::tokenizer
