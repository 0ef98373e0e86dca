// Questions as a chat model is asked them: the user's turn of its family's template around each.
#pragma once

#include <string>

#include "core/model/config/config.h"
#include "core/tokenizer/tokenizer.h"
#include "workloads/questions/item.h"

namespace reprise::experiments {

// The texts ahead of and behind a user's turn without a system prompt, "" where a model has none.
// Special tokens that begin a text are not among them: the tokenizer puts them there.
struct UserTurn {
  std::string open, close;
};

// Of the model's family, as pml::template_of() names it.
[[nodiscard]] UserTurn user_turn_of(const model::ModelConfig& config, const Tokenizer& tokenizer);

// Puts `turn` around an item that takes a chat template. The item's cue, with which the model's
// turn begins, ends its question then.
void put_into(workloads::questions::Item& item, const UserTurn& turn);

}  // namespace reprise::experiments
