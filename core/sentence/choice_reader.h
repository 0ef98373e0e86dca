// Which of some answers a decoder finds likeliest behind a text, by one token each: MMLU's letters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/sentence/text_reader.h"

namespace reprise::sentence {

class ChoiceReader final : public TextReader {
 public:
  // `choices` as they stand behind a text (" A", " B"): of each, its last token is looked at. Texts
  // are as they are, and none is cut: an answer follows its end. Model and tokenizer must outlive
  // it. Throws Error for a model without a head, for a choice without tokens, and for two choices
  // that end in the same one.
  ChoiceReader(model::Decoder& model, const Tokenizer& tokenizer,
               std::span<const std::string> choices);

  // The choices' number; the numbers are their logits.
  [[nodiscard]] int64_t width() const override { return static_cast<int64_t>(ids_.size()); }

 private:
  void read_step(std::span<const model::EncoderText> texts, model::LayerPolicy* policy,
                 std::span<float> out) override;

  std::vector<int32_t> ids_;   // of the choices
  std::vector<float> logits_;  // of a step
};

}  // namespace reprise::sentence
