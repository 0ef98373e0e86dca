#include "server/request_fields.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/visible.h"

namespace reprise::server {
namespace {

constexpr size_t kMostStops = 4;
constexpr size_t kMostStopBytes = 1024;
// Most log probabilities of an answer that is not streamed. One log probability takes 0.9 KiB as
// JSON values and text: 119,700 of them, in the form of chats, took 112 MiB. The limit allows one
// choice of 4096 tokens with 21 per token, the most that can be asked for.
constexpr int64_t kMostLogprobs = int64_t{1} << 17;

double read_number(JsonObject& object, const char* name, double low, double high, double fallback) {
  const double value = field(name, [&] { return object.number(name, fallback); });
  if (!(value >= low && value <= high))
    refuse(400, name, "{} is {}, it must be from {} to {}", name, value, low, high);
  return value;
}

int32_t read_integer(JsonObject& object, const char* name, int64_t low, int64_t high,
                     int64_t fallback) {
  return field(name,
               [&] { return static_cast<int32_t>(object.integer_in(name, low, high, fallback)); });
}

bool read_flag(JsonObject& object, const char* name) {
  return field(name, [&] { return object.boolean(name, false); });
}

void read_sampling(JsonObject& object, GenerationRequest& request) {
  request.sampling.temperature = read_number(object, "temperature", 0, 100, 1.0);
  request.sampling.top_p = read_number(object, "top_p", 0, 1, 1.0);
  if (request.sampling.top_p == 0)
    refuse(400, "top_p", "top_p is 0, it must be above 0 and at most 1");
  request.sampling.min_p = read_number(object, "min_p", 0, 1, 0);
  // In other servers' API, -1 means all tokens; in SamplingOptions, 0 means all tokens.
  request.sampling.top_k = std::max(0, read_integer(object, "top_k", -1, INT32_MAX, 0));
  request.has_seed = object.has("seed");
  if (request.has_seed)
    request.sampling.seed =
        static_cast<uint64_t>(field("seed", [&] { return object.integer("seed"); }));
}

// Reads {"ID": BIAS}.
void read_bias(JsonObject& object, const ServedModel& model, engine::TokenRules& rules) {
  constexpr size_t kMostBiases = 1024;
  constexpr double kMostBias = 100;
  const Value& biases = object.at("logit_bias");
  if (!biases.is_fields() || biases.size() > kMostBiases)
    refuse(400, "logit_bias", "logit_bias must be an object of at most {} token ids and numbers",
           kMostBiases);
  for (const auto& [name, value] : biases.fields()) {
    const bool is_id =
        !name.empty() && name.size() < 10 && std::all_of(name.begin(), name.end(), [](char c) {
          return std::isdigit(static_cast<unsigned char>(c)) != 0;
        });
    const int64_t id = is_id ? std::stoll(name) : -1;
    if (id < 0 || id >= model.vocab)
      refuse(400, "logit_bias", "{} is no token id: give ids from 0 to {}", shown(Value(name)),
             model.vocab - 1);
    if (!value.is_number() || std::abs(value.number()) > kMostBias)
      refuse(400, "logit_bias", "the bias of token {} is {}: give a number from {} to {}", id,
             shown(value), -kMostBias, kMostBias);
    rules.bias.emplace_back(static_cast<int32_t>(id), static_cast<float>(value.number()));
  }
}

void read_rules(JsonObject& object, const ServedModel& model, GenerationRequest& request) {
  engine::TokenRules& rules = request.rules;
  rules.presence_penalty = read_number(object, "presence_penalty", -2, 2, 0);
  rules.frequency_penalty = read_number(object, "frequency_penalty", -2, 2, 0);
  rules.repetition_penalty = read_number(object, "repetition_penalty", 0.01, 100, 1);
  rules.min_tokens = read_integer(object, "min_tokens", 0, INT32_MAX, 0);
  if (object.has("logit_bias")) read_bias(object, model, rules);
  if (!object.has("allowed_token_ids")) return;
  rules.allowed = read_ids(object.at("allowed_token_ids"), "allowed_token_ids",
                           static_cast<size_t>(model.vocab), model);
  if (rules.allowed.empty())
    refuse(400, "allowed_token_ids",
           "the list of allowed tokens is empty: name one, or leave it out");
  std::sort(rules.allowed.begin(), rules.allowed.end());
  const auto repeated = std::unique(rules.allowed.begin(), rules.allowed.end());
  rules.allowed.erase(repeated, rules.allowed.end());
}

void read_stops(JsonObject& object, GenerationRequest& request) {
  if (!object.has("stop")) return;
  const Value& stop = object.at("stop");
  const auto add = [&](const Value& text) {
    if (!text.is_text() || text.text().empty() || text.text().size() > kMostStopBytes)
      refuse(400, "stop", "a stop must be a text of 1 to {} bytes, found {}", kMostStopBytes,
             shown(text));
    request.stops.push_back(text.text());
  };
  if (!stop.is_list()) {
    add(stop);
    return;
  }
  if (stop.size() > kMostStops)
    refuse(400, "stop", "{} stops, at most {} are taken", stop.size(), kMostStops);
  for (const Value& text : stop.list()) add(text);
}

void read_stop_ids(JsonObject& object, const ServedModel& model, GenerationRequest& request) {
  constexpr size_t kMostIds = 64;
  if (object.has("stop_token_ids"))
    request.stop_ids = read_ids(object.at("stop_token_ids"), "stop_token_ids", kMostIds, model);
}

void read_stream(JsonObject& object, const ServedModel& model, GenerationRequest& request) {
  request.is_stream = read_flag(object, "stream");
  if (!object.has("stream_options")) return;
  if (!request.is_stream)
    refuse(400, "stream_options",
           "stream_options needs stream to be true: leave it out, or ask for a stream");
  field("stream_options", [&] {
    JsonObject options = object.object("stream_options");
    request.includes_usage = options.boolean("include_usage", false);
    tell_unknown(options, model, "stream_options.");
  });
}

// An empty list asks for nothing. Any other value, even "" or 0, asks for something: {} as a JSON
// schema asks for JSON.
bool is_empty_list(const Value& value) { return value.is_list() && value.size() == 0; }

// Fields of vLLM, SGLang and llama.cpp that change an answer. Each has the value at which it does
// not change the answer.
const NeutralFields& fields_of_others() {
  static const std::vector<std::pair<const char*, Value>> kFields = {
      {"typical_p", 1},
      {"top_a", 0},
      {"tfs_z", 1},
      {"repeat_penalty", 1},
      {"length_penalty", 1},
      {"mirostat", 0},
      {"xtc_probability", 0},
      {"dry_multiplier", 0},
      {"use_beam_search", false},
      {"early_stopping", false},
      {"include_stop_str_in_output", false},
      {"skip_special_tokens", true},
      {"spaces_between_special_tokens", true},
      {"add_generation_prompt", true},
      {"continue_final_message", false},
      {"truncate_prompt_tokens", nullptr},
      {"prompt_logprobs", nullptr},
      {"logprob_token_ids", nullptr},
      {"return_tokens_as_token_ids", false},
      {"bad_words", Values()},
      {"logits_processors", Values()},
      {"documents", Values()},
      {"guided_json", nullptr},
      {"guided_regex", nullptr},
      {"guided_choice", nullptr},
      {"guided_grammar", nullptr},
      {"structured_outputs", nullptr},
      {"json_schema", nullptr},
      {"regex", nullptr},
      {"ebnf", nullptr},
      {"grammar", ""},
      {"chat_template", nullptr},
      {"chat_template_kwargs", Fields()},
      {"reasoning_effort", nullptr},
      {"modalities", Values{"text"}},
      {"audio", nullptr},
      {"prediction", nullptr}};
  return kFields;
}

// Refuses unsupported fields that would change the answer, unless they have their neutral value.
void refuse_unsupported(JsonObject& object, bool is_chat) {
  refuse_unless_neutral(object, fields_of_others());
  // The special tokens of a chat are those of its template, so there the field adds further ones.
  refuse_unless_neutral(object, {{"add_special_tokens", !is_chat}});
  for (const char* name : {"tools", "functions", "suffix"})
    if (object.has(name) && !is_empty_list(object.at(name)))
      refuse(400, name, "{} is not supported: leave it out", name);
  if (object.has("response_format")) {
    const Value& format = object.at("response_format");
    if (field_of(format, "type") != Value("text"))
      refuse(400, "response_format", "response_format {} is not supported: only type text is",
             shown(format));
  }
}

// Positions that a prompt takes: its tokens and, where it has markup, the gaps between them.
int64_t length_of(const GenerationRequest& request, size_t prompt) {
  const auto marked = request.marked.find(prompt);
  if (marked == request.marked.end()) return std::ssize(request.prompts[prompt]);
  return engine::prompt_end(marked->second);
}

}  // namespace

void read_model(JsonObject& object, const ServedModel& model) {
  const std::string name = field("model", [&] { return object.string("model", model.name); });
  if (name != model.name)
    throw ApiError(404,
                   fmt::format("the model \"{}\" does not exist here; this server has \"{}\"",
                               visible(name.substr(0, 200), /*kept=*/""), model.name),
                   "model", "model_not_found");
}

std::vector<int32_t> read_ids(const Value& ids, const char* name, size_t most,
                              const ServedModel& model) {
  if (!ids.is_list() || ids.size() > most)
    refuse(400, name, "{} must be a list of at most {} token ids", name, most);
  std::vector<int32_t> all;
  for (const Value& id : ids.list()) {
    if (!id.is_int64() || id.integer() < 0 || id.integer() >= model.vocab)
      refuse(400, name, "{} is no token id: give ids from 0 to {}", shown(id), model.vocab - 1);
    all.push_back(static_cast<int32_t>(id.integer()));
  }
  return all;
}

void refuse_unless_neutral(JsonObject& object, const NeutralFields& unsupported) {
  for (const auto& [name, neutral] : unsupported)
    if (object.has(name) && object.at(name) != neutral && !is_empty_list(object.at(name)))
      refuse(400, name, "{} is not supported: leave it out", name);
}

Value read_body(const std::string& body) {
  Value json = field("", [&] { return parse_json(body, "the request"); });
  if (!json.is_fields())
    refuse(400, "", "the request must be a JSON object, found {}", json_type(json));
  return json;
}

void read_common(JsonObject& object, const ServedModel& model, GenerationRequest& request) {
  read_model(object, model);
  read_sampling(object, request);
  read_stops(object, request);
  read_stop_ids(object, model, request);
  read_rules(object, model, request);
  read_stream(object, model, request);
  refuse_unsupported(object, request.is_chat);
  request.n = read_integer(object, "n", 1, INT32_MAX, 1);
  if (request.n > model.most_choices)
    refuse(400, "n", "n is {}: {}", request.n, choices_limit(model));
  if (field("best_of", [&] { return object.integer("best_of", request.n); }) != request.n)
    refuse(400, "best_of", "best_of is not supported: leave it out, or give n");
  request.ignore_eos = read_flag(object, "ignore_eos");
  request.returns_token_ids = read_flag(object, "return_token_ids");
  // These fields are accepted and have no effect.
  object.allow({"user", "store", "metadata", "service_tier", "safety_identifier", "tool_choice",
                "function_call", "parallel_tool_calls", "prompt_cache_key"});
}

std::string choices_limit(const ServedModel& model) {
  return fmt::format(
      "at most {} choices are made at once, the lower of {} and the server's --max-requests",
      model.most_choices, kMostChoices);
}

void tell_unknown(const JsonObject& object, const ServedModel& model, const std::string& within) {
  if (!model.on_unknown_field) return;
  const std::vector<std::string> known = object.known();
  for (const auto& [name, value] : object.fields())
    if (std::find(known.begin(), known.end(), name) == known.end())
      model.on_unknown_field(within + name);
}

void check_text_length(size_t bytes, const ServedModel& model, const std::string& field_name) {
  const int64_t most = model.max_sequence_tokens * model.longest_token_bytes;
  if (std::cmp_less_equal(bytes, most)) return;
  throw ApiError(400,
                 fmt::format("the text has {} bytes; {} tokens, the most that the server takes, "
                             "have {} bytes at most: shorten the prompt",
                             bytes, model.max_sequence_tokens, most),
                 field_name, "context_length_exceeded");
}

void check_lengths(const GenerationRequest& request, const ServedModel& model,
                   const std::string& prompt_field) {
  if (std::ssize(request.prompts) * request.n > model.most_choices)
    refuse(400, "n", "{} prompts with n = {} are {} choices: {}", request.prompts.size(), request.n,
           std::ssize(request.prompts) * request.n, choices_limit(model));
  if (request.rules.min_tokens > request.max_tokens)
    refuse(400, "min_tokens", "min_tokens is {}, more than the {} tokens that the answer may have",
           request.rules.min_tokens, request.max_tokens);
  for (size_t i = 0; i < request.prompts.size(); ++i) {
    if (request.prompts[i].empty())
      refuse(400, prompt_field, "a prompt of no tokens: give one at least");
    const int64_t length = length_of(request, i);
    if (length + request.max_tokens <= model.max_sequence_tokens) continue;
    throw ApiError(400,
                   fmt::format("the request asks for {} tokens ({} in the prompt, {} for the "
                               "answer), the server takes at most {}: shorten the prompt, or ask "
                               "for fewer tokens",
                               length + request.max_tokens, length, request.max_tokens,
                               model.max_sequence_tokens),
                   prompt_field, "context_length_exceeded");
  }
}

void check_logprobs(const GenerationRequest& request, const std::string& field_name) {
  if (request.alternatives < 0) return;
  // A stream's events hold one token each, except the first, which holds an echoed prompt.
  const int64_t answer = request.is_stream ? 0 : request.max_tokens;
  int64_t longest = 0;
  if (request.echoes)
    for (const auto& prompt : request.prompts) longest = std::max(longest, std::ssize(prompt));
  const int64_t choices = std::ssize(request.prompts) * request.n;
  const int64_t a_token = int64_t{request.alternatives} + 1;
  const int64_t all = choices * (longest + answer) * a_token;
  const bool stream_fits = choices * longest * a_token <= kMostLogprobs;
  if (all > kMostLogprobs)
    refuse(400, field_name,
           "the answer would hold up to {} log probabilities ({} choices x {} tokens x {}), at "
           "most {} are put together: ask for fewer{}",
           all, choices, longest + answer, a_token, kMostLogprobs,
           stream_fits ? ", or for a stream" : "");
}

}  // namespace reprise::server
