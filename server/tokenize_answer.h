// Answers /tokenize and /detokenize in vLLM's form: the tokens of a text, and the text of tokens.
#pragma once

#include <string>

#include "server/generation_request.h"

namespace reprise::server {

// Turns {"prompt": TEXT, "add_special_tokens": true} or {"messages": [...]} into {"count",
// "max_model_len", "tokens"}. A prompt is plain text; messages are read as chats read them. Throws
// ApiError as read_completion().
std::string tokenize_answer(const std::string& body, const ServedModel& model);
// Turns {"tokens": [ID, ...]} into {"prompt": TEXT}. Throws ApiError.
std::string detokenize_answer(const std::string& body, const ServedModel& model);

}  // namespace reprise::server
