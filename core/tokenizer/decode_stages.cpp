// Implements what each decode stage does with fragments and ends of tokens.
#include "core/tokenizer/decode_stages.h"

#include <algorithm>

#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/replace_all.h"

namespace reprise::tokenizer {
namespace {

// Returns the byte for which a token <0xHH> stands, or -1 for another token.
int byte_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return -1;
  int value = 0;
  for (size_t i = 3; i < 5; ++i) {
    const char c = token[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

}  // namespace

void JoinStage::open() {
  if (is_open_) return;
  is_open_ = true;
  if (!is_first_) next().text(" ");
  is_first_ = false;
}

void JoinStage::text(std::string_view fragment) {
  open();
  next().text(fragment);
}

void JoinStage::end_token() {
  open();
  is_open_ = false;
  next().end_token();
}

void ByteLevelStage::token(std::string& text) {
  bytes_.clear();
  text_.clear();
  append_bytes_of_token(bytes_, text);
  characters_.push(bytes_, text_);
  next().text(text_);
}

void ByteLevelStage::finish() {
  text_.clear();
  characters_.flush(text_);
  next().text(text_);
  next().end_token();
  next().finish();
}

void ByteFallbackStage::token(std::string& text) {
  const int byte = byte_token(text);
  if (byte >= 0) {
    run_.push_back(static_cast<char>(byte));
    return;
  }
  end_run();
  emit(text);
}

void ByteFallbackStage::end_run() {
  if (run_.empty()) return;
  LossyUtf8 characters;
  std::string text;
  characters.push(run_, text);
  characters.flush(text);
  if (text == run_) {
    emit(text);
  } else {
    for (size_t i = 0; i < run_.size(); ++i) emit(kReplacement);
  }
  run_.clear();
}

void ByteFallbackStage::finish() {
  end_run();
  next().finish();
}

void StripStage::text(std::string_view fragment) {
  for (size_t at = 0; at < fragment.size();) {
    const std::string_view c = fragment.substr(at, utf8_at(fragment, at).bytes);
    at += c.size();
    const bool is_it = c == character_;
    if (is_front_ && is_it && cut_ < start_) {
      ++cut_;
      continue;
    }
    is_front_ = false;
    if (is_it && held_ < stop_) {
      ++held_;
      continue;
    }
    // Already as many characters are held back as may be removed, so the oldest one stays in the
    // text.
    if (is_it) {
      next().text(character_);
      continue;
    }
    for (; held_ > 0; --held_) next().text(character_);
    next().text(c);
  }
}

void StripStage::end_token() {
  cut_ = 0;
  held_ = 0;
  is_front_ = true;
  next().end_token();
}

void ReplaceTextStage::text(std::string_view fragment) {
  held_ += fragment;
  size_t done = 0;
  for (size_t at = held_.find(pattern_); at != std::string::npos; at = held_.find(pattern_, done)) {
    if (at > done) next().text(std::string_view(held_).substr(done, at - done));
    next().text(content_);
    done = at + pattern_.size();
  }
  const std::string_view rest = std::string_view(held_).substr(done);
  size_t keep = std::min(rest.size(), pattern_.size() - 1);
  while (keep > 0 && !pattern_.starts_with(rest.substr(rest.size() - keep))) --keep;
  if (rest.size() > keep) next().text(rest.substr(0, rest.size() - keep));
  held_.erase(0, held_.size() - keep);
}

void ReplaceTextStage::end_token() {
  if (!held_.empty()) next().text(held_);
  held_.clear();
  next().end_token();
}

void ReplaceRegexStage::token(std::string& text) {
  std::vector<Span> spans;
  regex_->find_all(text, spans);
  for (const Span& span : spans)
    next().text(span.is_match ? std::string_view(content_)
                              : std::string_view(text).substr(span.begin, span.end - span.begin));
  next().end_token();
}

void MetaspaceStage::text(std::string_view fragment) {
  std::string out;
  for (size_t at = 0; at < fragment.size();) {
    const std::string_view c = fragment.substr(at, utf8_at(fragment, at).bytes);
    at += c.size();
    if (c != options_.replacement) {
      out += c;
    } else if (!is_first_ || options_.prepend == MetaspaceOptions::Prepend::kNever) {
      out += ' ';
    }
  }
  next().text(out);
}

void MetaspaceStage::end_token() {
  is_first_ = false;
  next().end_token();
}

void WordPieceStage::token(std::string& text) {
  if (!is_first_) {
    if (text.starts_with(prefix_)) {
      text.erase(0, prefix_.size());
    } else {
      text.insert(text.begin(), ' ');
    }
  }
  is_first_ = false;
  if (cleanup_) {
    constexpr std::string_view kRules[][2] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [from, to] : kRules) replace_all(text, from, to);
  }
  emit(text);
}

}  // namespace reprise::tokenizer
