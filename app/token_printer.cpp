#include "app/token_printer.h"

#include <utility>

#include "core/base/visible.h"

namespace reprise::app {

TokenPrinter::TokenPrinter(std::unique_ptr<StreamDecoder> decoder, tokenizer::StopText stop,
                           bool is_terminal, Write write)
    : decoder_(std::move(decoder)),
      stop_(std::move(stop)),
      is_terminal_(is_terminal),
      write_(std::move(write)) {}

void TokenPrinter::token(int32_t id) {
  if (decoder_ == nullptr)
    show((is_first_ ? "" : " ") + std::to_string(id));
  else
    show(stop_.push(decoder_->push(id)));
  is_first_ = false;
}

void TokenPrinter::end() {
  if (decoder_ != nullptr) {
    show(stop_.push(decoder_->flush()));
    show(stop_.flush());
  }
  show("\n");
}

void TokenPrinter::show(std::string_view text) const {
  if (!text.empty()) write_(is_terminal_ ? visible(text) : std::string(text));
}

}  // namespace reprise::app
