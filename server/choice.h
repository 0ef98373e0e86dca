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
  // The text continues the prompt's, so a first word keeps the space before it. `tokenizer` must
  // outlive this.
  Choice(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
         const std::vector<std::string>& stops);

  // Takes a piece and returns the text that can be shown now. It has only whole characters, and
  // text that may be the beginning of a stop text is held back. Must not be called after the end.
  std::string push(const Piece& piece);

  [[nodiscard]] bool has_ended() const { return !finish_reason_.empty(); }
  // True if a stop text ended the choice, so that its request can be cancelled.
  [[nodiscard]] bool was_cut() const { return !stop_.found().empty(); }
  [[nodiscard]] const std::string& finish_reason() const { return finish_reason_; }  // "": none yet
  [[nodiscard]] int64_t tokens() const { return tokens_; }  // without tokens after a stop text

 private:
  std::unique_ptr<StreamDecoder> decoder_;
  tokenizer::StopText stop_;
  std::string finish_reason_;
  int64_t tokens_ = 0;
};

}  // namespace reprise::server
