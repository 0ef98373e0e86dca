// Tokens on their way to the reader, as they are generated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/tokenizer/stop_text.h"
#include "core/tokenizer/tokenizer.h"

namespace reprise::app {

// Writes text where it has a decoder, else ids with a space between two.
class TokenPrinter {
 public:
  using Write = std::function<void(std::string_view)>;

  // `decoder`: of Tokenizer::stream(), null: ids. On a terminal, control characters that a model
  // may generate are written out (see visible()); elsewhere the text is what it is.
  TokenPrinter(std::unique_ptr<StreamDecoder> decoder, tokenizer::StopText stop, bool is_terminal,
               Write write);

  void token(int32_t id);
  // What was held back, and a line break.
  void end();
  // The stop text that came; nothing of it, and of what follows, is written. "": none.
  [[nodiscard]] const std::string& stop_found() const { return stop_.found(); }

 private:
  void show(std::string_view text) const;

  std::unique_ptr<StreamDecoder> decoder_;
  tokenizer::StopText stop_;
  bool is_terminal_;
  Write write_;
  bool is_first_ = true;
};

}  // namespace reprise::app
