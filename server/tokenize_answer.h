// Answers what text is which tokens, in the form of vLLM's /tokenize and /detokenize.
#pragma once

#include <string>

#include "server/generation_request.h"

namespace reprise::server {

// {"prompt": TEXT, "add_special_tokens": true} or {"messages": [...]} to {"count", "max_model_len",
// "tokens"}, as completions and chats read them. Throws ApiError as read_completion().
std::string tokenize_answer(const std::string& body, const ServedModel& model);
// {"tokens": [ID, ...]} to {"prompt": TEXT}. Throws ApiError.
std::string detokenize_answer(const std::string& body, const ServedModel& model);

}  // namespace reprise::server
