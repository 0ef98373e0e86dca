#include "experiments/kinds/accuracy/user_turn.h"

#include <fmt/format.h>

#include <vector>

#include "core/base/error.h"
#include "core/tokenizer/chat_template.h"
#include "methods/prompt_cache/pml/turn_template.h"

namespace reprise::experiments {
namespace {

// Spells the token that ends texts as in the vocabulary.
std::string text_of(const pml::Marker& marker, const Tokenizer& tokenizer) {
  std::string text;
  for (const pml::MarkerPart& part : marker) {
    text += part.text;
    if (part.special != pml::Special::kEos) continue;
    const std::string spelt = tokenizer::chat_text({part}, tokenizer);
    if (tokenizer.encode(spelt, {.add_special = false}) !=
        std::vector<int32_t>{*tokenizer.eos_id()})
      raise("the tokenizer does not recognize {} in a text, which ends turns of the chat template",
            spelt);
    text += spelt;
  }
  return text;
}

}  // namespace

UserTurn user_turn_of(const model::ModelConfig& config, const Tokenizer& tokenizer,
                      const std::string& folder) {
  const pml::TurnTemplate& chosen =
      pml::turn_template(pml::template_of(config.family, tokenizer, folder));
  if (!chosen.is_recognized)
    raise("chat_template: that of {} is none of those that are known: {}", folder,
          fmt::join(pml::template_names(), ", "));
  const pml::Turn& user = chosen.turn(pml::Role::kUser);
  return {.open = text_of(chosen.turn(pml::Role::kSystem).empty, tokenizer) +
                  text_of(user.open, tokenizer),
          .close = text_of(user.close, tokenizer)};
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
