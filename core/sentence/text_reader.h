// Sends texts through a model, many in one step, and gets a row of numbers for each text. Base
// class of Embedder (the numbers are a vector), ChoiceReader (scores of answers) and LabelReader
// (scores of labels).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/model/network/decoder.h"
#include "core/model/network/encoder.h"
#include "core/sentence/text_form.h"

namespace reprise::sentence {

class TextReader {
 public:
  // Number of tokens per step: large enough that reading the weights takes a small part of a step's
  // time, small enough that a step's values stay in the processor's caches.
  static constexpr int64_t kStepTokens = 2048;

  virtual ~TextReader() = default;
  // Number of values per text.
  [[nodiscard]] virtual int64_t width() const = 0;
  // Tokenizes a text as TextTokenizer does. Also throws Error for a token that the model does not
  // have.
  [[nodiscard]] TextTokens tokens_of(std::string_view text) const;
  // Returns TextTokenizer::most_bytes().
  [[nodiscard]] size_t most_text_bytes() const { return tokenizer_.most_bytes(); }
  // Return TextTokenizer::special_before(), special_after() and prompt_tokens().
  [[nodiscard]] int64_t special_before() const { return tokenizer_.special_before(); }
  [[nodiscard]] int64_t special_after() const { return tokenizer_.special_after(); }
  [[nodiscard]] int64_t prompt_tokens() const { return tokenizer_.prompt_tokens(); }
  // Tokenizes several texts. An Error names the text by its number, from 1.
  [[nodiscard]] std::vector<TextTokens> tokens_of(std::span<const std::string> texts) const;
  // Returns the end of the range of texts that form one step of read(). The range begins with
  // `first`; the end is at least first + 1.
  [[nodiscard]] static size_t end_of_step(std::span<const TextTokens> texts, size_t first);
  // Computes the vectors of texts: writes each text's width() values to its row of `out` [texts,
  // width()] f32. Each step of the model computes as many texts as have at most kStepTokens tokens
  // together, and at least one text. `policy` is applied to each step.
  void read(std::span<const TextTokens> texts, std::span<float> out,
            model::LayerPolicy* policy = nullptr);
  // From now on, read() calls `call` before each step of the model. If `call` throws, read() ends.
  void call_before_steps(std::function<void()> call) { before_step_ = std::move(call); }
  // read() for texts that are not tokenized yet. Returns [texts, width()].
  std::vector<float> read(std::span<const std::string> texts, model::LayerPolicy* policy = nullptr);

 protected:
  // Model and tokenizer must outlive this object.
  TextReader(model::Decoder& model, const Tokenizer& tokenizer, TextForm form)
      : model_(model), encoder_(model), tokenizer_(tokenizer, std::move(form)) {}
  // Computes the vectors of the texts of one step, none of which is empty: writes each text's
  // width() values to its row of `out` [texts, width()].
  virtual void read_step(std::span<const model::EncoderText> texts, model::LayerPolicy* policy,
                         std::span<float> out) = 0;

  [[nodiscard]] const model::ModelConfig& config() const { return model_.config(); }
  [[nodiscard]] model::Encoder& encoder() { return encoder_; }

 private:
  model::Decoder& model_;
  model::Encoder encoder_;
  TextTokenizer tokenizer_;
  std::vector<model::EncoderText> step_;
  std::function<void()> before_step_;  // may be empty
};

}  // namespace reprise::sentence
