// Puts questions into the user's turn of a chat model's template.
#pragma once

#include <string>

#include "core/model/config/config.h"
#include "core/tokenizer/tokenizer.h"
#include "workloads/questions/item.h"

namespace reprise::experiments {

// The texts before and behind a user's turn when there is no system prompt. Special tokens that
// begin a text are left out, because the tokenizer adds them. A family without a chat template has
// open "" and close "\n".
struct UserTurn {
  std::string open, close;
};

// The turn of the model's family, as pml::template_of() names it.
[[nodiscard]] UserTurn user_turn_of(const model::ModelConfig& config, const Tokenizer& tokenizer);

// Puts `turn` around an item that takes a chat template. The item's cue then ends its question,
// because the model's turn begins behind it.
void put_into(workloads::questions::Item& item, const UserTurn& turn);

}  // namespace reprise::experiments
