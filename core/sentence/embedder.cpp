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
  settings.form.most_tokens = config.default_tokens();
  settings.pooling.modes = {config.is_causal ? PoolingMode::kLast : PoolingMode::kMean};
  const auto found = read_sentence_folder(folder);
  if (!found) return settings;
  settings.pooling = found->pooling;
  settings.form.prompt.before = found->prompt;
  settings.takes_prompt = found->pools_prompt;
  settings.form.strips_space = true;
  settings.form.lowers_case = found->lowers_case;
  settings.form.most_tokens = fewer(config.default_tokens(), found->most_tokens.value_or(0));
  return settings;
}

Embedder::Embedder(model::Decoder& model, const Tokenizer& tokenizer, EmbedSettings settings)
    : TextReader(model, tokenizer, settings.form), settings_(std::move(settings)) {
  const Prompt& prompt = settings_.form.prompt;
  if (!settings_.takes_prompt && !(prompt.before.empty() && prompt.after.empty()))
    raise(
        "the model's pooling leaves out a prompt's tokens (include_prompt is false in its "
        "config.json), which is not supported: embed without a prompt");
}

void Embedder::read_step(std::span<const model::EncoderText> texts, model::LayerPolicy* policy,
                         std::span<float> out) {
  const auto hidden_of = settings_.pooling.needed();
  const bool takes_all = hidden_of == model::HiddenOf::kEveryToken;
  const int64_t hidden = config().hidden;
  const auto rows_of = [&](const model::EncoderText& text) {
    return takes_all ? std::ssize(text.ids) : ptrdiff_t{1};
  };
  int64_t rows = 0;
  for (const model::EncoderText& text : texts) rows += rows_of(text);
  states_.resize(static_cast<size_t>(rows * hidden));
  encoder().encode({.texts = texts, .hidden_of = hidden_of, .policy = policy}, states_);
  std::span<const float> states = states_;
  for (const model::EncoderText& text : texts) {
    const auto numbers = static_cast<size_t>(rows_of(text) * hidden);
    const auto vector = static_cast<size_t>(width());
    pool(settings_.pooling, states.first(numbers), hidden, out.first(vector));
    states = states.subspan(numbers);
    out = out.subspan(vector);
  }
}

}  // namespace reprise::sentence
