#include "core/tokenizer/python_text.h"

#include <utf8proc.h>

#include <algorithm>

#include "core/tokenizer/unicode.h"
#include "core/tokenizer/utf8.h"

namespace reprise::python {
namespace {

utf8proc_category_t category(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

char32_t simple_lower(char32_t code) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

// Unicode property Cased, except for modifier letters, which callers skip first.
bool is_cased(char32_t code) {
  const auto kind = category(code);
  if (kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL || kind == UTF8PROC_CATEGORY_LT)
    return true;
  // Circled and squared letters and the ordinal indicators U+00AA and U+00BA are cased as well.
  if ((code >= 0x1f130 && code <= 0x1f149) || (code >= 0x1f150 && code <= 0x1f169) ||
      (code >= 0x1f170 && code <= 0x1f189))
    return true;
  const auto number = static_cast<utf8proc_int32_t>(code);
  return code == 0xaa || code == 0xba || utf8proc_tolower(number) != number ||
         utf8proc_toupper(number) != number;
}

// Unicode property Case_Ignorable: characters inside a word that do not end it.
bool is_case_ignorable(char32_t code) {
  constexpr std::u32string_view kWithinWords =
      U"':.\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a";
  switch (category(code)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return kWithinWords.find(code) != std::u32string_view::npos;
  }
}

// True if the sigma text[at] follows a letter of its word and no letter follows it (Final_Sigma in
// the Unicode standard).
bool ends_word(std::u32string_view text, size_t at) {
  size_t before = at;
  while (before > 0 && is_case_ignorable(text[before - 1])) --before;
  if (before == 0 || !is_cased(text[before - 1])) return false;
  size_t after = at + 1;
  while (after < text.size() && is_case_ignorable(text[after])) ++after;
  return after == text.size() || !is_cased(text[after]);
}

}  // namespace

std::u32string code_points(std::string_view text) {
  tokenizer::require_utf8(text, "the text");
  std::u32string codes;
  codes.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const tokenizer::Utf8Char character = tokenizer::utf8_at(text, at);
    codes.push_back(character.code);
    at += character.bytes;
  }
  return codes;
}

std::string utf8(std::u32string_view text) {
  std::string bytes;
  for (const char32_t code : text) tokenizer::append_utf8(bytes, code);
  return bytes;
}

bool is_space(char32_t code) {
  return tokenizer::is_whitespace(code) || (code >= 0x1c && code <= 0x1f);
}

bool is_decimal(char32_t code) { return category(code) == UTF8PROC_CATEGORY_ND; }

bool is_upper(char32_t code) {
  const auto kind = category(code);
  // Circled letters and Roman numerals have a case, although their categories are not those of
  // letters.
  return kind == UTF8PROC_CATEGORY_LU ||
         (kind != UTF8PROC_CATEGORY_LT && simple_lower(code) != code);
}

bool is_word(char32_t code) {
  if (code == U'_' || tokenizer::is_number(code)) return true;
  const auto kind = category(code);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

std::u32string lower(std::u32string_view text) {
  constexpr char32_t kSigma = 0x3a3, kFinalSigma = 0x3c2, kDottedI = 0x130;
  std::u32string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == kDottedI)
      out += U"i\u0307";
    else
      out += text[i] == kSigma && ends_word(text, i) ? kFinalSigma : simple_lower(text[i]);
  }
  return out;
}

std::vector<std::u32string> split(std::u32string_view text) {
  std::vector<std::u32string> words;
  for (auto begin = text.begin(); begin != text.end();) {
    begin = std::find_if_not(begin, text.end(), is_space);
    const auto end = std::find_if(begin, text.end(), is_space);
    if (begin != end) words.emplace_back(begin, end);
    begin = end;
  }
  return words;
}

std::vector<std::u32string> split_at(std::u32string_view text, char32_t separator) {
  std::vector<std::u32string> parts;
  for (size_t end = text.find(separator); end != std::u32string_view::npos;
       end = text.find(separator)) {
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.emplace_back(text);
  return parts;
}

std::u32string_view without_leading_newlines(std::u32string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(U'\n'), text.size()));
  return text;
}

}  // namespace reprise::python
