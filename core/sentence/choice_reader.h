// Scores one-token answers to a text, such as MMLU's letters, by the decoder's logits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/sentence/text_reader.h"

namespace reprise::sentence {

class ChoiceReader final : public TextReader {
 public:
  // `choices` are texts such as " A" and " B", or "A" and "B"; in byte-level vocabularies a letter
  // with a space before it has a token of its own. The score of a choice is that of its last token.
  // Texts are read unchanged and never cut, because the answer is what follows their end. Model and
  // tokenizer must outlive this object. Throws Error for a model without a head, for a choice
  // without tokens, and for two choices that end in the same token.
  ChoiceReader(model::Decoder& model, const Tokenizer& tokenizer,
               std::span<const std::string> choices);

  // Number of choices. The outputs of a text are the choices' logits.
  [[nodiscard]] int64_t width() const override { return static_cast<int64_t>(ids_.size()); }

 private:
  void read_step(std::span<const model::EncoderText> texts, model::LayerPolicy* policy,
                 std::span<float> out) override;

  std::vector<int32_t> ids_;   // [choices]  the token by which each choice is scored
  std::vector<float> logits_;  // logits of one step
};

}  // namespace reprise::sentence
