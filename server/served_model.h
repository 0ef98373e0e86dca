// A checkpoint's folder as a server offers it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/model/config/config.h"
#include "server/generation_request.h"

namespace reprise::server {

// The name, lengths and ends of texts of a model, and its chat template: the family that
// `chat_template` names, or for "" the one that the folder's tokenizer_config.json is recognized
// as. Where neither is, completions are served and chats refused with the reason. Throws Error for
// a name that is not known.
ServedModel served_model(const model::ModelConfig& config, const Tokenizer& tokenizer,
                         const std::filesystem::path& folder, const std::string& chat_template);

// The tokens that every completion of this text begins with, whatever follows it.
std::vector<int32_t> text_prefix(const ServedModel& model, const std::string& text);
// The tokens that every conversation with this system message begins with, whatever follows.
std::vector<int32_t> chat_prefix(const ServedModel& model, const std::string& system);

}  // namespace reprise::server
