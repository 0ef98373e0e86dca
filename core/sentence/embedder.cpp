#include "core/sentence/embedder.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/sentence/sentence_folder.h"

namespace reprise::sentence {
namespace {

int64_t fewer(int64_t a, int64_t b) { return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b); }

}  // namespace

std::string model_folder_of(const std::string& folder) {
  const auto found = read_sentence_folder(folder);
  return found ? found->model.string() : folder;
}

EmbedSettings settings_of(const std::string& folder, const model::ModelConfig& config) {
  EmbedSettings settings;
  settings.form.most_tokens = config.max_positions;
  settings.pooling.modes = {config.is_causal ? PoolingMode::kLast : PoolingMode::kMean};
  const auto found = read_sentence_folder(folder);
  if (!found) return settings;
  settings.pooling = found->pooling;
  settings.form.prompt.before = found->prompt;
  settings.takes_prompt = found->pools_prompt;
  settings.form.strips_space = true;
  settings.form.lowers_case = found->lowers_case;
  settings.form.most_tokens = fewer(config.max_positions, found->most_tokens.value_or(0));
  return settings;
}

Embedder::Embedder(model::Decoder& model, const Tokenizer& tokenizer, EmbedSettings settings)
    : model_(model),
      encoder_(model),
      settings_(std::move(settings)),
      tokenizer_(tokenizer, settings_.form) {
  const Prompt& prompt = settings_.form.prompt;
  if (!settings_.takes_prompt && !(prompt.before.empty() && prompt.after.empty()))
    raise(
        "the model's pooling leaves out a prompt's tokens (include_prompt is false in its "
        "config.json), which is not supported: embed without a prompt");
}

TextTokens Embedder::tokens_of(std::string_view text) const {
  TextTokens tokens = tokenizer_.tokens_of(text);
  const int64_t vocab = model_.config().vocab;
  for (const int32_t id : tokens.ids)
    if (id >= vocab)
      raise(
          "token {} of the tokenizer is outside {}'s vocabulary of {}: they do not belong together",
          id, model_.config().name, vocab);
  return tokens;
}

void Embedder::embed(std::span<const TextTokens> texts, std::span<float> out,
                     model::LayerPolicy* policy) {
  REPRISE_CHECK(std::ssize(out) == std::ssize(texts) * width(), "{} numbers for {} texts of {}",
                out.size(), texts.size(), width());
  for (size_t first = 0; first < texts.size();) {
    size_t end = first;
    int64_t tokens = 0;
    do {
      tokens += std::ssize(texts[end++].ids);
    } while (end < texts.size() && tokens + std::ssize(texts[end].ids) <= kStepTokens);
    embed_step(texts.subspan(first, end - first),
               out.data() + static_cast<int64_t>(first) * width(), policy);
    first = end;
  }
}

std::vector<float> Embedder::embed(std::span<const std::string> texts, model::LayerPolicy* policy) {
  std::vector<TextTokens> tokens;
  for (const std::string& text : texts) {
    try {
      tokens.push_back(tokens_of(text));
    } catch (const Error& error) {
      raise("text {}: {}", tokens.size() + 1, error.what());
    }
  }
  std::vector<float> out(texts.size() * static_cast<size_t>(width()));
  embed(tokens, out, policy);
  return out;
}

void Embedder::embed_step(std::span<const TextTokens> texts, float* out,
                          model::LayerPolicy* policy) {
  const auto hidden_of = settings_.pooling.needed();
  const bool takes_all = hidden_of == model::HiddenOf::kEveryToken;
  const int64_t hidden = model_.config().hidden;
  step_.clear();
  int64_t rows = 0;
  for (const TextTokens& text : texts) {
    REPRISE_CHECK(!text.ids.empty(), "a text without tokens");
    step_.push_back({.ids = text.ids});
    rows += takes_all ? std::ssize(text.ids) : 1;
  }
  states_.resize(static_cast<size_t>(rows * hidden));
  encoder_.encode({.texts = step_, .hidden_of = hidden_of, .policy = policy}, states_);
  size_t at = 0;
  for (const TextTokens& text : texts) {
    const auto numbers = static_cast<size_t>(takes_all ? std::ssize(text.ids) * hidden : hidden);
    pool(settings_.pooling, std::span(states_).subspan(at, numbers), hidden,
         {out, static_cast<size_t>(width())});
    at += numbers;
    out += width();
  }
}

}  // namespace reprise::sentence
