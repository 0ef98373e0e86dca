// Texts through a model, many in a step, to some numbers each: what makes vectors of them and what
// reads answers off them have in common.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/model/network/decoder.h"
#include "core/model/network/encoder.h"
#include "core/sentence/text_form.h"

namespace reprise::sentence {

class TextReader {
 public:
  // Tokens of one step: enough that weights are read for many, and few enough that a step's values
  // stay in the caches.
  static constexpr int64_t kStepTokens = 2048;

  virtual ~TextReader() = default;
  // Numbers of each text.
  [[nodiscard]] virtual int64_t width() const = 0;
  // See TextTokenizer. Throws Error also for a token that the model does not have.
  [[nodiscard]] TextTokens tokens_of(std::string_view text) const;
  // Of each; an Error names the text by its number, from 1.
  [[nodiscard]] std::vector<TextTokens> tokens_of(std::span<const std::string> texts) const;
  // out [texts, width()] f32, in order. Texts of about kStepTokens tokens go through the model
  // together; `policy`, if any, sees each such step.
  void read(std::span<const TextTokens> texts, std::span<float> out,
            model::LayerPolicy* policy = nullptr);
  // The same of texts by themselves.
  std::vector<float> read(std::span<const std::string> texts, model::LayerPolicy* policy = nullptr);

 protected:
  // Model and tokenizer must outlive it.
  TextReader(model::Decoder& model, const Tokenizer& tokenizer, TextForm form)
      : model_(model), encoder_(model), tokenizer_(tokenizer, std::move(form)) {}
  // out [texts, width()] of one step's texts, none of which is empty.
  virtual void read_step(std::span<const model::EncoderText> texts, model::LayerPolicy* policy,
                         std::span<float> out) = 0;

  [[nodiscard]] const model::ModelConfig& config() const { return model_.config(); }
  [[nodiscard]] model::Encoder& encoder() { return encoder_; }

 private:
  model::Decoder& model_;
  model::Encoder encoder_;
  TextTokenizer tokenizer_;
  std::vector<model::EncoderText> step_;
};

}  // namespace reprise::sentence
