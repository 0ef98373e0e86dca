// Prints tokens as they are generated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/tokenizer/stop_text.h"
#include "core/tokenizer/tokenizer.h"

namespace reprise::app {

// Writes the text of tokens if there is a decoder, otherwise token ids separated by spaces.
class TokenPrinter {
 public:
  using Write = std::function<void(std::string_view)>;

  // `decoder` comes from Tokenizer::stream(); null: ids are printed. On a terminal, control
  // characters that a model generates are escaped (see visible()); elsewhere the text is unchanged.
  TokenPrinter(std::unique_ptr<StreamDecoder> decoder, tokenizer::StopText stop, bool is_terminal,
               Write write);

  void token(int32_t id);
  // Writes the text that was held back, and a line break.
  void end();
  // The stop text that was found; "" if none was. Neither the stop text nor anything after it is
  // written.
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
