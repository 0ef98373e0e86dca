#include "core/tokenizer/shared_text.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace reprise {
namespace {

// Lower bound on the bytes of the text's last lines. It exceeds the length of any token. An added
// space or a cut word may change the first tokens of these lines, but later ones are the same as in
// the whole text.
constexpr size_t kTailBytes = 128;
// Number of consecutive equal tokens that are needed to join the two lists of tokens.
constexpr size_t kJoin = 8;

}  // namespace

SharedText::SharedText(const Tokenizer& tokenizer, std::string text, EncodeOptions options)
    : tokenizer_(tokenizer),
      text_(std::move(text)),
      options_(options),
      tokens_(tokenizer.encode(text_, options)) {
  if (text_.size() < 2 * kTailBytes) return;
  const size_t line_end = text_.rfind('\n', text_.size() - kTailBytes);
  if (line_end == std::string::npos) return;
  tail_begin_ = line_end + 1;
  tail_ = tokenizer_.encode(std::string_view(text_).substr(tail_begin_), options_);
  const auto ends = std::mismatch(tokens_.rbegin(), tokens_.rend(), tail_.rbegin(), tail_.rend());
  alike_ = static_cast<size_t>(ends.first - tokens_.rbegin());
  if (alike_ < 2 * kJoin) tail_.clear();
}

std::vector<int32_t> SharedText::encode(std::string_view behind) const {
  if (!tail_.empty()) {
    std::string lines = text_.substr(tail_begin_);
    lines += behind;
    const std::vector<int32_t> end = tokenizer_.encode(lines, options_);
    // Index in tail_ of the first of the tokens with which both tokens_ and tail_ end.
    const auto at = static_cast<std::ptrdiff_t>(tail_.size() - alike_);
    const auto join_end = at + static_cast<std::ptrdiff_t>(kJoin);
    if (std::ssize(end) >= join_end &&
        std::equal(tail_.begin(), tail_.begin() + join_end, end.begin())) {
      std::vector<int32_t> tokens(tokens_.begin(),
                                  tokens_.end() - static_cast<std::ptrdiff_t>(alike_));
      tokens.insert(tokens.end(), end.begin() + at, end.end());
      return tokens;
    }
  }
  std::string whole = text_;
  whole += behind;
  return tokenizer_.encode(whole, options_);
}

}  // namespace reprise
