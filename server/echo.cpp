#include "server/echo.h"

#include "core/tokenizer/utf8.h"

namespace reprise::server {

Echo echo_of(const Tokenizer& tokenizer, std::span<const int32_t> prompt) {
  Echo echo;
  const auto decoder = tokenizer.stream();
  int64_t characters = 0;
  for (const int32_t token : prompt) {
    echo.offsets.push_back(characters);
    const std::string text = decoder->push(token);
    characters += static_cast<int64_t>(tokenizer::utf8_length(text));
    echo.text += text;
  }
  return echo;
}

}  // namespace reprise::server
