#include "server/choice.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/tokenizer/utf8.h"

namespace reprise::server {

Choice::Choice(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
               const std::vector<std::string>& stops)
    : decoder_(tokenizer.stream()), stop_(stops) {
  // Number of last tokens of the prompt that the decoder gets. One is not enough, because special
  // tokens have no text.
  constexpr size_t kMostTokens = 64;
  for (const int32_t token : prompt.last(std::min(prompt.size(), kMostTokens)))
    (void)decoder_->push(token);
}

std::string Choice::push(const Piece& piece) {
  using engine::FinishReason;
  REPRISE_CHECK(!has_ended(), "a token behind the end of a choice");
  std::string text;
  if (piece.token >= 0) {
    ++tokens_;
    // The token that ends a text is not part of it, even if it is no special token.
    if (piece.finish != FinishReason::kStop) {
      const std::string decoded = decoder_->push(piece.token);
      characters_ += static_cast<int64_t>(tokenizer::utf8_length(decoded));
      text = stop_.push(decoded);
    }
  }
  if (piece.finish != FinishReason::kNone && !was_cut()) {
    text += stop_.push(decoder_->flush());
    text += stop_.flush();
    finish_reason_ = piece.finish == FinishReason::kLength ? "length" : "stop";
  }
  if (was_cut()) finish_reason_ = "stop";
  return text;
}

}  // namespace reprise::server
