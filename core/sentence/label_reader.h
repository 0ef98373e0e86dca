// Computes the scores of texts for each label of a fine-tuned encoder.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/network/task_head.h"
#include "core/sentence/text_reader.h"

namespace reprise::sentence {

class LabelReader final : public TextReader {
 public:
  // Model and tokenizer must outlive this object.
  LabelReader(model::Decoder& model, const Tokenizer& tokenizer, TextForm form,
              model::TaskHead head);

  // Number of labels. The outputs of a text are the labels' logits.
  [[nodiscard]] int64_t width() const override { return head_.labels; }

 private:
  void read_step(std::span<const model::EncoderText> texts, model::LayerPolicy* policy,
                 std::span<float> out) override;

  model::TaskHead head_;
  std::vector<float> states_;
};

}  // namespace reprise::sentence
