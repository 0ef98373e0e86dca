// Texts to sentence vectors: a tokenizer, a model and a pooling that belong together.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/model/network/decoder.h"
#include "core/model/network/encoder.h"
#include "core/sentence/pooling.h"
#include "core/sentence/text_form.h"

namespace reprise::sentence {

struct EmbedSettings {
  TextForm form;
  Pooling pooling;
  bool takes_prompt = true;  // false: pooling would have to leave a prompt's tokens out
};

// What a model's folder asks for: of a sentence-transformers folder what that says, without white
// space around texts; of another one the mean of an encoder's states and a decoder's last one, not
// normalized. No text is longer than the model has positions. Throws Error as
// read_sentence_folder(); `config` is that of the folder's model.
EmbedSettings settings_of(const std::string& folder, const model::ModelConfig& config);

// Where a folder's model itself is: the folder, or one below it that its modules.json names.
std::string model_folder_of(const std::string& folder);

class Embedder {
 public:
  // Rows of one step: enough that weights are read for many, and few enough that a step's values
  // stay in the caches.
  static constexpr int64_t kStepTokens = 2048;

  // Model and tokenizer must outlive it. Throws Error for a prompt where the settings take none.
  Embedder(model::Decoder& model, const Tokenizer& tokenizer, EmbedSettings settings);

  [[nodiscard]] const EmbedSettings& settings() const { return settings_; }
  [[nodiscard]] int64_t width() const { return settings_.pooling.width(model_.config().hidden); }
  // See TextTokenizer. Throws Error also for a token that the model does not have.
  [[nodiscard]] TextTokens tokens_of(std::string_view text) const;
  // out [texts, width()] f32, in order. Texts of about kStepTokens tokens go through the model
  // together; `policy`, if any, sees each such step.
  void embed(std::span<const TextTokens> texts, std::span<float> out,
             model::LayerPolicy* policy = nullptr);
  // The same of texts by themselves; an Error names the text by its number, from 1.
  std::vector<float> embed(std::span<const std::string> texts,
                           model::LayerPolicy* policy = nullptr);

 private:
  void embed_step(std::span<const TextTokens> texts, float* out, model::LayerPolicy* policy);

  model::Decoder& model_;
  model::Encoder encoder_;
  EmbedSettings settings_;
  TextTokenizer tokenizer_;
  std::vector<model::EncoderText> step_;
  std::vector<float> states_;
};

}  // namespace reprise::sentence
