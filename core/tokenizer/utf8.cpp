// A state machine that recognizes the ill-formed sequences of UTF-8.
#include "core/tokenizer/utf8.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/utf8_byte.h"

namespace reprise::tokenizer {

Utf8Char utf8_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) & 0x3fu : 0u;
  };
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1fu) << 6 | byte(1), 2};
  if (lead < 0xF0) return {(lead & 0x0fu) << 12 | byte(1) << 6 | byte(2), 3};
  return {(lead & 0x07u) << 18 | byte(1) << 12 | byte(2) << 6 | byte(3), 4};
}

Utf8Char utf8_before(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && continues_character(text[at])) --at;
  return utf8_at(text, at);
}

size_t utf8_length(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += continues_character(c) ? 0 : 1;
  return count;
}

void append_utf8(std::string& out, char32_t code) {
  const auto put = [&](char32_t bits) { out.push_back(static_cast<char>(bits)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

// kBroken: `byte` is ill-formed by itself. kBrokenAgain: the bytes held so far are ill-formed, and
// `byte`, which begins something new, must be passed to step() again.
LossyUtf8::Step LossyUtf8::step(unsigned char byte) {
  if (wanted_ == 0) {
    held_ = 0;
    pending_[held_++] = static_cast<char>(byte);
    if (byte < 0x80) return Step::kWhole;
    if (byte < 0xC2 || byte > 0xF4) return Step::kBroken;
    wanted_ = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    // The next byte must lie in a range that excludes overlong forms, surrogates, and code points
    // above U+10FFFF.
    low_ = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
    high_ = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
    return Step::kMore;
  }
  if (byte < low_ || byte > high_) {
    wanted_ = 0;
    return Step::kBrokenAgain;
  }
  pending_[held_++] = static_cast<char>(byte);
  low_ = 0x80;
  high_ = 0xBF;
  return --wanted_ == 0 ? Step::kWhole : Step::kMore;
}

void LossyUtf8::push(std::string_view bytes, std::string& out) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    switch (step(static_cast<unsigned char>(bytes[i]))) {
      case Step::kMore:
        break;
      case Step::kWhole:
        out.append(pending_, held_);
        break;
      case Step::kBrokenAgain:
        --i;
        [[fallthrough]];
      case Step::kBroken:
        out += kReplacement;
    }
  }
}

void LossyUtf8::flush(std::string& out) {
  if (wanted_ > 0) out += kReplacement;
  wanted_ = 0;
}

void require_utf8(std::string_view text, std::string_view what) {
  LossyUtf8 decoder;
  const auto fail = [&](size_t offset) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(offset), '\n');
    raise("{} is not valid UTF-8 at byte {}{}; convert it to UTF-8 first", what, offset,
          line > 1 ? fmt::format(", in line {}", line) : "");
  };
  size_t start = 0;  // start of the current character
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (decoder.wanted_ == 0) {
      if (byte < 0x80) continue;
      start = i;
    }
    const LossyUtf8::Step step = decoder.step(byte);
    if (step == LossyUtf8::Step::kBroken || step == LossyUtf8::Step::kBrokenAgain) fail(start);
  }
  if (decoder.wanted_ > 0) fail(start);
}

}  // namespace reprise::tokenizer
