#include "experiments/kinds/accuracy/user_turn.h"

#include "methods/prompt_cache/pml/turn_template.h"

namespace reprise::experiments {
namespace {

std::string text_of(const pml::Marker& marker) {
  std::string text;
  for (const pml::MarkerPart& part : marker) text += part.text;
  return text;
}

}  // namespace

UserTurn user_turn_of(const model::ModelConfig& config, const Tokenizer& tokenizer) {
  const pml::TurnTemplate& chosen = pml::turn_template(pml::template_of(config.family, tokenizer));
  const pml::Turn& user = chosen.turn(pml::Role::kUser);
  return {.open = text_of(chosen.turn(pml::Role::kSystem).empty) + text_of(user.open),
          .close = text_of(user.close)};
}

void put_into(workloads::questions::Item& item, const UserTurn& turn) {
  if (item.takes_chat_template) {
    item.preamble.insert(0, turn.open);
    item.question += turn.close;
  }
  item.question += item.cue;
  item.cue.clear();
}

}  // namespace reprise::experiments
