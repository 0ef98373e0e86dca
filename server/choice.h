// Turns the tokens of one choice of an answer into text as they arrive.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/tokenizer/stop_text.h"
#include "core/tokenizer/tokenizer.h"
#include "server/reply.h"

namespace reprise::server {

class Choice {
 public:
  // The choice's text continues the text of `prompt`, so its first word keeps the space before it.
  // Stop texts that are complete within the first `min_tokens` tokens do not end the choice, as in
  // vLLM. `tokenizer` must outlive this object.
  Choice(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
         const std::vector<std::string>& stops, int32_t min_tokens);

  // Takes a piece and returns the text that can be shown now. Incomplete characters are held back,
  // and so is text that may be the beginning of a stop text. Must not be called once has_ended().
  std::string push(const Piece& piece);

  [[nodiscard]] bool has_ended() const { return !finish_reason_.empty(); }
  // True if a stop text ended the choice. The caller then cancels the choice's request.
  [[nodiscard]] bool was_cut() const { return !stop_.found().empty(); }
  [[nodiscard]] const std::string& finish_reason() const { return finish_reason_; }  // "": none yet
  [[nodiscard]] int64_t tokens() const { return tokens_; }  // without tokens after a stop text
  // Characters of the text so far, those held back included.
  [[nodiscard]] int64_t characters() const { return characters_; }
  // The text that the last token completed: one U+FFFD for each character that earlier tokens left
  // incomplete, then the token's own text.
  [[nodiscard]] const std::string& last_text() const { return last_text_; }

 private:
  std::unique_ptr<StreamDecoder> decoder_;
  tokenizer::StopText stop_;
  int32_t min_tokens_;
  std::string finish_reason_, last_text_;
  int64_t tokens_ = 0, characters_ = 0;
};

}  // namespace reprise::server
