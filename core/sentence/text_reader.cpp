#include "core/sentence/text_reader.h"

#include "core/base/error.h"

namespace reprise::sentence {

TextTokens TextReader::tokens_of(std::string_view text) const {
  TextTokens tokens = tokenizer_.tokens_of(text);
  for (const int32_t id : tokens.ids)
    if (id >= config().vocab)
      raise(
          "token {} of the tokenizer is outside {}'s vocabulary of {}: they do not belong together",
          id, config().name, config().vocab);
  return tokens;
}

std::vector<TextTokens> TextReader::tokens_of(std::span<const std::string> texts) const {
  std::vector<TextTokens> tokens;
  tokens.reserve(texts.size());
  for (const std::string& text : texts) {
    try {
      tokens.push_back(tokens_of(std::string_view(text)));
    } catch (const Error& error) {
      raise("text {}: {}", tokens.size() + 1, error.what());
    }
  }
  return tokens;
}

size_t TextReader::end_of_step(std::span<const TextTokens> texts, size_t first) {
  int64_t tokens = 0;
  size_t end = first;
  for (; end < texts.size(); ++end) {
    const int64_t count = std::ssize(texts[end].ids);
    REPRISE_CHECK(count > 0, "a text without tokens");
    if (end > first && tokens + count > kStepTokens) break;
    tokens += count;
  }
  return end;
}

void TextReader::read(std::span<const TextTokens> texts, std::span<float> out,
                      model::LayerPolicy* policy) {
  REPRISE_CHECK(std::ssize(out) == std::ssize(texts) * width(), "{} numbers for {} texts of {}",
                out.size(), texts.size(), width());
  const auto numbers = static_cast<size_t>(width());
  for (size_t first = 0; first < texts.size();) {
    step_.clear();
    for (const TextTokens& text : texts.subspan(first, end_of_step(texts, first) - first))
      step_.push_back({.ids = text.ids});
    if (before_step_) before_step_();
    read_step(step_, policy, out.subspan(first * numbers, step_.size() * numbers));
    first += step_.size();
  }
}

std::vector<float> TextReader::read(std::span<const std::string> texts,
                                    model::LayerPolicy* policy) {
  std::vector<float> out(texts.size() * static_cast<size_t>(width()));
  read(tokens_of(texts), out, policy);
  return out;
}

}  // namespace reprise::sentence
