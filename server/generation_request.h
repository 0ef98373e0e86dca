// What a client asks for, read from JSON that may hold anything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/engine/request.h"
#include "core/engine/sampling.h"
#include "core/tokenizer/chat_template.h"
#include "core/tokenizer/tokenizer.h"

namespace reprise::server {

// The model as requests are read for it.
struct ServedModel {
  std::string name;  // that requests may say
  const Tokenizer& tokenizer;
  // Of the tokenizer's folder, or what the user chose; none: `no_chat` says why.
  std::optional<tokenizer::ChatTemplate> chat;
  std::string no_chat;
  int32_t vocab = 0;
  int32_t max_sequence_tokens = 0;    // prompt and answer
  std::vector<int32_t> eos_ids;       // end a completion
  std::vector<int32_t> chat_eos_ids;  // end an answer of a chat
  int32_t most_choices = 128;         // of one request: prompts times n
  // Reads a prompt's text where it is in the method's markup; nullopt: it is plain. Throws Error
  // for markup that is wrong. Called by several threads. Empty: all texts are plain.
  std::function<std::optional<engine::Request>(const std::string& text)> read_markup = {};
  // Told once for each field that requests name and nothing here knows.
  std::function<void(const std::string&)> on_unknown_field = {};
};

struct GenerationRequest {
  std::vector<std::vector<int32_t>> prompts;  // tokens of each, one at least
  std::map<size_t, engine::Request> marked;   // prompts with markup, by their index in `prompts`
  int32_t n = 1;                              // choices for each prompt
  int32_t max_tokens = 16;
  engine::SamplingOptions sampling = {.temperature = 1.0};
  bool has_seed = false;
  std::vector<std::string> stops;
  bool ignore_eos = false;
  bool is_stream = false, includes_usage = false;
  int32_t alternatives =
      -1;  // tokens beside the drawn one whose log probabilities are told; -1: none
  bool is_chat = false;
};

// Bodies of POST /v1/completions and /v1/chat/completions. Both throw ApiError with what was found
// and what is accepted: 400, and 404 for another model. Fields that would change the answer and are
// not supported are refused where they ask for something; those unknown are passed over.
GenerationRequest read_completion(const std::string& body, const ServedModel& model);
GenerationRequest read_chat(const std::string& body, const ServedModel& model);

}  // namespace reprise::server
