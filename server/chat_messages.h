// Reads the messages of a chat and writes them as the model's prompt.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/json.h"
#include "server/generation_request.h"

namespace reprise::server {

// Returns the tokens of the field "messages", put into the model's chat template. Throws ApiError
// for messages of another form, for a model without a template, and for a text that is too long.
std::vector<int32_t> chat_prompt(JsonObject& object, const ServedModel& model);

}  // namespace reprise::server
