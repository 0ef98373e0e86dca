// Fields that both kinds of request have, and how a field is read so that an error names it.
#pragma once

#include <string>
#include <utility>

#include "core/base/json.h"
#include "server/api_error.h"
#include "server/generation_request.h"

namespace reprise::server {

// Runs `read`, and turns its Error into one that names the field.
template <typename Read>
decltype(auto) field(const std::string& name, Read&& read) {
  try {
    return read();
  } catch (const ApiError&) {
    throw;
  } catch (const Error& error) {
    throw ApiError(400, error.what(), name);
  }
}

// The body as an object. Throws ApiError for what is none, or nested too deep.
Json read_body(const std::string& body);

// Everything but the prompt and what only one of the two knows.
void read_common(JsonObject& object, const ServedModel& model, GenerationRequest& request);
// Fields that were asked for nowhere.
void tell_unknown(const JsonObject& object, const ServedModel& model);
// Throws ApiError, with the numbers, for a prompt that leaves no room for `max_tokens`.
void check_lengths(const GenerationRequest& request, const ServedModel& model,
                   const std::string& prompt_field);
// Throws ApiError, with the numbers, for a whole answer of more log probabilities than are put
// together: `field_name` is what asked for them.
void check_logprobs(const GenerationRequest& request, const std::string& field_name);

}  // namespace reprise::server
