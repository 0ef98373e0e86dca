// Reads fields that the requests of several endpoints have in common. Errors name the field.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "server/api_error.h"
#include "server/generation_request.h"

namespace reprise::server {

// Returns the result of `read`. If `read` throws Error, throws an ApiError (400) that names the
// field instead.
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

// Parses the body. Throws ApiError if it is not a JSON object or nested too deep.
Value read_body(const std::string& body);

// Reads "model". Throws ApiError (404) if it names another model.
void read_model(JsonObject& object, const ServedModel& model);
// Reads field `name`, a list of at most `most` ids of the model's vocabulary. Throws ApiError.
std::vector<int32_t> read_ids(const Value& ids, const char* name, size_t most,
                              const ServedModel& model);

// Names of fields that are not supported, each with the value at which it changes nothing.
using NeutralFields = std::vector<std::pair<const char*, Value>>;
// Throws ApiError for the first of the `unsupported` fields whose value in `object` is neither the
// neutral value nor an empty list.
void refuse_unless_neutral(JsonObject& object, const NeutralFields& unsupported);

// Throws ApiError for a text with more bytes than the model's longest sequence of tokens can have.
// Called before the text is tokenized, which takes hundreds of bytes of memory for each byte.
void check_text_length(size_t bytes, const ServedModel& model, const std::string& field_name);

// Reads all fields that completions and chats share, except the prompt.
void read_common(JsonObject& object, const ServedModel& model, GenerationRequest& request);
// Calls model.on_unknown_field for each field of `object` that no function has read. `within` is
// written before the field's name, such as "messages." for a field of a message.
void tell_unknown(const JsonObject& object, const ServedModel& model,
                  const std::string& within = "");
// The part of an error that says how many choices a request may have, and why.
std::string choices_limit(const ServedModel& model);
// Throws ApiError if a prompt and request.max_tokens together exceed the model's
// max_sequence_tokens, with these numbers. Also throws ApiError for too many choices, for
// min_tokens above max_tokens, and for a prompt without tokens.
void check_lengths(const GenerationRequest& request, const ServedModel& model,
                   const std::string& prompt_field);
// Throws ApiError if a whole (not streamed) answer or the echoed prompts could have too many log
// probabilities. `field_name` is the field that asks for log probabilities.
void check_logprobs(const GenerationRequest& request, const std::string& field_name);

}  // namespace reprise::server
