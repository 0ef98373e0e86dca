#include "server/echo.h"

#include <algorithm>

#include "core/tokenizer/utf8.h"

namespace reprise::server {

Echo echo_of(const Tokenizer& tokenizer, const TokenTexts& texts, std::span<const int32_t> prompt,
             const std::string& given) {
  Echo echo;
  const auto decoder = tokenizer.stream();
  // The tokenizer added the tokens before written.second.
  const std::vector<int32_t> added = tokenizer.encode("");
  const auto written = std::mismatch(added.begin(), added.end(), prompt.begin(), prompt.end());
  int64_t characters = 0;
  for (auto token = prompt.begin(); token != prompt.end(); ++token) {
    std::string text = decoder->push(*token);
    echo.offsets.push_back(characters + texts.earlier_characters(*token, text));
    // A special token decodes to nothing, but the given text may have its name.
    if (text.empty() && token >= written.second && tokenizer.decode({token, 1}).empty()) {
      const std::string name = tokenizer.token_text(*token);
      const size_t at = echo.text.size();
      if (at < given.size() && given.compare(at, name.size(), name) == 0) text = name;
    }
    characters += static_cast<int64_t>(tokenizer::utf8_length(text));
    echo.text += text;
  }
  if (!given.empty()) echo.text = given;
  return echo;
}

}  // namespace reprise::server
