#include "server/choice.h"

#include "core/base/error.h"
#include "core/tokenizer/utf8.h"

namespace reprise::server {

Choice::Choice(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
               const std::vector<std::string>& stops, int32_t min_tokens)
    : decoder_(tokenizer.stream()), stop_(stops), min_tokens_(min_tokens) {
  // The decoder gets this many of the prompt's last tokens, not counting special tokens, which have
  // no text.
  constexpr int kMostTokens = 64;
  size_t first = prompt.size();
  for (int with_text = 0; first > 0 && with_text < kMostTokens; --first)
    if (!tokenizer.decode(prompt.subspan(first - 1, 1)).empty()) ++with_text;
  for (const int32_t token : prompt.subspan(first)) (void)decoder_->push(token);
}

std::string Choice::push(const Piece& piece) {
  using engine::FinishReason;
  REPRISE_CHECK(!has_ended(), "a token behind the end of a choice");
  std::string text;
  last_text_.clear();
  if (piece.token >= 0) ++tokens_;
  const bool may_end = tokens_ > min_tokens_;
  // The token that ends a text is not part of it, even if it is no special token.
  if (piece.token >= 0 && piece.finish != FinishReason::kStop) {
    last_text_ = decoder_->push(piece.token);
    characters_ += static_cast<int64_t>(tokenizer::utf8_length(last_text_));
    text = stop_.push(last_text_, may_end);
  }
  if (piece.finish != FinishReason::kNone && !was_cut()) {
    text += stop_.push(decoder_->flush(), may_end);
    text += stop_.flush();
    finish_reason_ = piece.finish == FinishReason::kLength ? "length" : "stop";
  }
  if (was_cut()) finish_reason_ = "stop";
  return text;
}

}  // namespace reprise::server
