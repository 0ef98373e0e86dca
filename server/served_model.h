// Reads from a checkpoint's folder the facts that a server needs about its model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/model/config/config.h"
#include "server/generation_request.h"

namespace reprise::server {

// Returns a model's name, lengths, end tokens and chat template. `chat_template` is the name of a
// template's family; for "" the family is recognized from the folder's tokenizer_config.json. If it
// cannot be recognized, chats are refused with the reason. Throws Error for an unknown name.
ServedModel served_model(const model::ModelConfig& config, const Tokenizer& tokenizer,
                         const std::filesystem::path& folder, const std::string& chat_template);

// Returns the leading tokens that the prompts of all completions beginning with `text` have in
// common.
std::vector<int32_t> text_prefix(const ServedModel& model, const std::string& text);
// Returns the leading tokens that all conversations with this system message have in common.
std::vector<int32_t> chat_prefix(const ServedModel& model, const std::string& system);

}  // namespace reprise::server
