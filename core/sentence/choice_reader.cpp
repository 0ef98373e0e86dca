#include "core/sentence/choice_reader.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::sentence {

ChoiceReader::ChoiceReader(model::Decoder& model, const Tokenizer& tokenizer,
                           std::span<const std::string> choices)
    : TextReader(model, tokenizer,
                 {.most_tokens = model.config().position_limit(), .may_cut = false}) {
  if (!config().has_head)
    raise("{} has no head that makes logits: choices are told apart by a decoder", config().name);
  for (const std::string& choice : choices) {
    const std::vector<int32_t> tokens = tokenizer.encode(choice, {.add_special = false});
    if (tokens.empty() || tokens.back() >= config().vocab)
      raise("the choice \"{}\" has no token that {} knows", choice, config().name);
    if (std::find(ids_.begin(), ids_.end(), tokens.back()) != ids_.end())
      raise("the choice \"{}\" ends in the same token as another: they cannot be told apart",
            choice);
    ids_.push_back(tokens.back());
  }
}

void ChoiceReader::read_step(std::span<const model::EncoderText> texts, model::LayerPolicy* policy,
                             std::span<float> out) {
  const auto vocab = static_cast<size_t>(config().vocab);
  logits_.resize(texts.size() * vocab);
  encoder().next_logits(texts, policy, logits_);
  for (size_t text = 0; text < texts.size(); ++text)
    for (size_t choice = 0; choice < ids_.size(); ++choice)
      out[text * ids_.size() + choice] = logits_[text * vocab + static_cast<size_t>(ids_[choice])];
}

}  // namespace reprise::sentence
