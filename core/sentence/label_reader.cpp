#include "core/sentence/label_reader.h"

#include <Eigen/Dense>
#include <cmath>
#include <utility>

namespace reprise::sentence {
namespace {

using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using FloatVector = Eigen::VectorXf;

// Sets logits [labels] f32 to the head's logits for the state h [hidden].
void apply_head(const model::TaskHead& head, std::span<const float> state,
                std::span<float> logits) {
  const auto vector = [](std::span<const float> values) {
    return Eigen::Map<const FloatVector>(values.data(), std::ssize(values));
  };
  FloatVector between =
      Eigen::Map<const FloatMatrix>(head.dense.data(), head.hidden, head.hidden) * vector(state);
  between += vector(head.bias);
  for (float& x : between)
    x = head.is_gelu ? 0.5f * x * (1.0f + std::erf(x * std::sqrt(0.5f))) : std::tanh(x);
  Eigen::Map<FloatVector>(logits.data(), head.labels) =
      Eigen::Map<const FloatMatrix>(head.out.data(), head.labels, head.hidden) * between +
      vector(head.out_bias);
}

}  // namespace

LabelReader::LabelReader(model::Decoder& model, const Tokenizer& tokenizer, TextForm form,
                         model::TaskHead head)
    : TextReader(model, tokenizer, std::move(form)), head_(std::move(head)) {}

void LabelReader::read_step(std::span<const model::EncoderText> texts, model::LayerPolicy* policy,
                            std::span<float> out) {
  const auto hidden = static_cast<size_t>(head_.hidden), labels = static_cast<size_t>(width());
  states_.resize(texts.size() * hidden);
  encoder().encode({.texts = texts, .hidden_of = model::HiddenOf::kFirstToken, .policy = policy},
                   states_);
  for (size_t text = 0; text < texts.size(); ++text)
    apply_head(head_, std::span(states_).subspan(text * hidden, hidden),
               out.subspan(text * labels, labels));
}

}  // namespace reprise::sentence
