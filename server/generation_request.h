// Reads a client's request for text from JSON, and refuses anything that is not such a request.
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

// Most choices of one request, whatever the server's limits: prompts times n.
inline constexpr int32_t kMostChoices = 128;

// The facts about a model that reading requests needs.
struct ServedModel {
  std::string name;  // the name that requests give
  const Tokenizer& tokenizer;
  // The template of the tokenizer's folder or the user's choice. If absent, `no_chat` says why.
  std::optional<tokenizer::ChatTemplate> chat;
  std::string no_chat;
  int32_t vocab = 0;
  int32_t max_sequence_tokens = 0;    // prompt and answer together
  std::vector<int32_t> eos_ids;       // tokens that end a completion
  std::vector<int32_t> chat_eos_ids;  // tokens that end an answer of a chat
  int64_t longest_token_bytes = 1;    // bytes of the longest token's text
  // Most choices of one request: kMostChoices, or fewer if the server holds fewer requests.
  int32_t most_choices = kMostChoices;
  // Reads a prompt's text if it is in the method's markup; returns nullopt for plain text. Throws
  // Error for wrong markup. Called by several threads. Empty: all texts are plain.
  std::function<std::optional<engine::Request>(const std::string& text)> read_markup = {};
  // Called for each unknown field of each request, with the field's name.
  std::function<void(const std::string&)> on_unknown_field = {};
};

struct GenerationRequest {
  std::vector<std::vector<int32_t>> prompts;  // tokens of each prompt; at least one prompt
  std::map<size_t, engine::Request> marked;   // prompts with markup, by their index in `prompts`
  bool echoes = false;                        // true: each choice begins with its prompt
  // Only if `echoes`: texts of the prompts that were given as plain text, by index in `prompts`.
  std::map<size_t, std::string> texts;
  int32_t n = 1;            // number of choices for each prompt
  int32_t max_tokens = 16;  // 0 (only if `echoes`): the answer is the prompt alone
  engine::SamplingOptions sampling = {.temperature = 1.0};
  bool has_seed = false;
  std::vector<std::string> stops;
  std::vector<int32_t> stop_ids;  // in addition to the model's own end tokens
  bool ignore_eos = false;
  // Biases, penalties, and limits on the tokens of the answer. rules.withheld, the tokens that
  // min_tokens withholds, is set when the stop tokens are known.
  engine::TokenRules rules;
  bool returns_token_ids = false;  // report ids of prompt and answer (vLLM's return_token_ids)
  bool is_stream = false, includes_usage = false;
  // Number of most probable tokens reported in addition to the drawn token; -1: no log
  // probabilities are reported.
  int32_t alternatives = -1;
  bool is_chat = false;
};

// Read the bodies of POST /v1/completions and /v1/chat/completions. Both throw ApiError (404 for
// another model, otherwise 400) with the value found and the accepted values. An unsupported field
// that would change the answer is refused unless it has its neutral value. Unknown fields are
// ignored.
GenerationRequest read_completion(const std::string& body, const ServedModel& model);
GenerationRequest read_chat(const std::string& body, const ServedModel& model);

}  // namespace reprise::server
