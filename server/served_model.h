// Reads from a checkpoint's folder how a server offers its model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/model/config/config.h"
#include "server/generation_request.h"

namespace reprise::server {

// Returns a model's name, lengths, end tokens and chat template. The template is the family that
// `chat_template` names; for "" it is recognized from the folder's tokenizer_config.json, and if
// that fails, chats are refused with the reason. Throws Error for an unknown name.
ServedModel served_model(const model::ModelConfig& config, const Tokenizer& tokenizer,
                         const std::filesystem::path& folder, const std::string& chat_template);

// The tokens that the prompt of every completion beginning with `text` begins with.
std::vector<int32_t> text_prefix(const ServedModel& model, const std::string& text);
// The tokens that every conversation with this system message begins with.
std::vector<int32_t> chat_prefix(const ServedModel& model, const std::string& system);

}  // namespace reprise::server
