// Character classes and normal forms from utf8proc, corrected by unicode_changes.h.
#include "core/tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/base/error.h"
#include "core/tokenizer/unicode_changes.h"
#include "core/tokenizer/utf8.h"

namespace reprise::tokenizer {
namespace {

utf8proc_category_t category(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

bool in(char32_t code, char32_t first, char32_t last) { return code >= first && code <= last; }

}  // namespace

bool is_whitespace(char32_t code) {
  return in(code, 0x09, 0x0d) || code == 0x20 || code == 0x85 || code == 0xa0 || code == 0x1680 ||
         in(code, 0x2000, 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f ||
         code == 0x205f || code == 0x3000;
}

bool is_number(char32_t code) {
  if (code < 0x80) return in(code, '0', '9');
  const auto c = category(code);
  return c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t code) {
  if (code < 0x80)
    return in(code, '!', '/') || in(code, ':', '@') || in(code, '[', '`') || in(code, '{', '~');
  const auto c = category(code);
  return (c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO) !=
         contains(kPunctuationChanged, code);
}

bool is_mark(char32_t code) {
  const auto c = category(code);
  return (c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_ME) !=
         contains(kMarkChanged, code);
}

bool is_nonspacing_mark(char32_t code) {
  return (category(code) == UTF8PROC_CATEGORY_MN) != contains(kNonspacingChanged, code);
}

bool is_control_or_other(char32_t code) {
  const auto c = category(code);
  return (c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF || c == UTF8PROC_CATEGORY_CO) !=
         contains(kOtherChanged, code);
}

bool is_word(char32_t code) {
  if (code < 0x80)
    return in(code, '0', '9') || in(code, 'A', 'Z') || in(code, 'a', 'z') || code == '_';
  const auto c = category(code);
  if (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_NL) return true;  // L*, M*, Nd, Nl
  return c == UTF8PROC_CATEGORY_PC || in(code, 0x24b6, 0x24e9) || in(code, 0x1f130, 0x1f149) ||
         in(code, 0x1f150, 0x1f169) || in(code, 0x1f170, 0x1f189);
}

bool is_bert_cjk(char32_t code) {
  return in(code, 0x4e00, 0x9fff) || in(code, 0x3400, 0x4dbf) || in(code, 0x20000, 0x2a6df) ||
         in(code, 0x2a700, 0x2b73f) || in(code, 0x2b740, 0x2b81f) || in(code, 0x2b920, 0x2ceaf) ||
         in(code, 0xf900, 0xfaff) || in(code, 0x2f800, 0x2fa1f);
}

void append_lower(std::string& out, char32_t code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(in(code, 'A', 'Z') ? code + 32 : code));
  } else if (code == 0x130) {
    out += "i\xCC\x87";
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))));
  }
}

namespace {

std::string normalized_today(std::string_view text, NormalForm form) {
  int options = UTF8PROC_STABLE;
  options |=
      form == NormalForm::kNFC || form == NormalForm::kNFKC ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::kNFKC || form == NormalForm::kNFKD) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* result = nullptr;
  const utf8proc_ssize_t bytes = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &result, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(result, &std::free);
  if (bytes < 0) raise("Unicode normalization failed: {}", utf8proc_errmsg(bytes));
  return {reinterpret_cast<const char*>(result), static_cast<size_t>(bytes)};
}

}  // namespace

std::string normalized(std::string_view text, NormalForm form) {
  // ASCII text is in every normal form. Most prompts return here.
  if (std::all_of(text.begin(), text.end(),
                  [](char c) { return static_cast<signed char>(c) >= 0; }))
    return std::string(text);
  std::string out;
  size_t begin = 0;  // text before this is in `out`
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_at(text, at);
    if (contains(kNormalizationChanged, c.code)) {
      out += normalized_today(text.substr(begin, at - begin), form);
      out += text.substr(at, c.bytes);
      begin = at + c.bytes;
    }
    at += c.bytes;
  }
  return out + normalized_today(text.substr(begin), form);
}

}  // namespace reprise::tokenizer
