// One of an answer's texts as its tokens come.
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
  // The text goes on from the prompt's: a first word keeps the space before it. `tokenizer` must
  // outlive it.
  Choice(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
         const std::vector<std::string>& stops);

  // The text that can be shown now: whole characters, and nothing that a stop text may begin with.
  // A choice that has ended takes no more.
  std::string push(const Piece& piece);

  [[nodiscard]] bool has_ended() const { return !finish_reason_.empty(); }
  // Whether a stop text ended it, so that its request need not go on.
  [[nodiscard]] bool was_cut() const { return !stop_.found().empty(); }
  [[nodiscard]] const std::string& finish_reason() const { return finish_reason_; }  // "": none yet
  [[nodiscard]] int64_t tokens() const { return tokens_; }  // those behind a stop text not counted

 private:
  std::unique_ptr<StreamDecoder> decoder_;
  tokenizer::StopText stop_;
  std::string finish_reason_;
  int64_t tokens_ = 0;
};

}  // namespace reprise::server
