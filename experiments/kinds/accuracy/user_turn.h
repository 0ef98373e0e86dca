// Puts questions into the user's turn of a chat model's template.
#pragma once

#include <string>

#include "core/model/config/config.h"
#include "core/tokenizer/tokenizer.h"
#include "workloads/questions/item.h"

namespace reprise::experiments {

// The texts before (`open`) and after (`close`) a user's turn when there is no system prompt.
// Special tokens that begin every text are left out, because the tokenizer adds them. For a model
// family without a chat template, `open` is "" and `close` is "\n".
struct UserTurn {
  std::string open, close;
};

// The turn of the template that pml::template_of() names. `folder` is the model's. Throws Error
// if the model's template is not known, and if the tokenizer does not recognize the token that ends
// the turn in a text.
[[nodiscard]] UserTurn user_turn_of(const model::ModelConfig& config, const Tokenizer& tokenizer,
                                    const std::string& folder);

// Puts `turn` around an item that takes a chat template. Then moves the item's cue to the end of
// its question, behind turn.close, so that the cue begins the model's turn.
void put_into(workloads::questions::Item& item, const UserTurn& turn);

}  // namespace reprise::experiments
