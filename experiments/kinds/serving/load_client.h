// An OpenAI-compatible server as the target of a serving run: the client side of `reprise load`.
//
// When a request's first token comes, an event without a time says so. All tokens are reported at
// the request's end, each with the time at which it came, because only the whole answer tells how
// many tokens each of its events has. A declared prefix is sent as a request that asks for one
// token.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/tokenizer/tokenizer.h"
#include "experiments/kinds/serving/completion_client.h"
#include "experiments/serving/clock.h"
#include "experiments/serving/target.h"

namespace reprise::server {

// How prompts are sent. For text, `tokenizer` decodes the token ids, without the special tokens
// that it adds to a text itself (such as <s>), or would read as ordinary text, and the server
// tokenizes the text. The ids of its answer's tokens are then kept only if `tokenizer` decodes them
// to the answer's text.
enum class PromptForm : uint8_t {
  kTokenIds,  // to /completions
  kText,      // to /completions, for servers that take no token ids
  kChat       // as the user's message to /chat/completions; the server's template adds tokens
};
[[nodiscard]] std::string name_of(PromptForm form);

struct LoadOptions {
  ServerPlace place;
  std::string model;  // "": the first that each server lists
  PromptForm form = PromptForm::kTokenIds;
  std::shared_ptr<const Tokenizer> tokenizer;
  int64_t most_connections = 512;  // further requests wait for a connection and are sent late
};

// The server's answers to ask_server().
struct ServerFacts {
  std::string model;
  std::string owner;    // "owned_by" of the model: "vllm", "sglang", "llamacpp", ...; "": absent
  std::string version;  // answer of GET /version, as vLLM has it; "": absent
  // True if the server accepts, or at least ignores, the fields that make it generate all requested
  // tokens and report the number of tokens of an event: ignore_eos, stream_options,
  // return_token_ids, timings_per_token. If it refuses a request with them, it gets requests with
  // OpenAI's stream_options.include_usage alone; if it refuses that, too, takes_usage is false and
  // requests have none of these fields.
  bool takes_extensions = true;
  bool takes_usage = true;
  bool tells_cached_tokens = false;
  bool tells_tokens = false;  // the server reports how many tokens it generated
  // In a chat: the number of prompt tokens that the server reports for ask_server()'s request,
  // nearly all of them its chat template's; -1: not reported. 0 if prompts are not sent as chats.
  int64_t template_tokens = 0;
};

// Returns the first token of `prompt` (the first that has a text, if prompts are sent as text), as
// the prompt of ask_server().
[[nodiscard]] std::vector<int32_t> short_prompt(const LoadOptions& options,
                                                const std::vector<int32_t>& prompt);

// Asks the server for its models and for one token after `prompt`. A prompt of one token is enough,
// and should be short because the server may cache it. Throws Error naming the URL if there is no
// server, if the server lists no model and `options` names none, if it refuses the prompt (with the
// server's message), or if its answer has no token. Throws Interrupted when `stop` is set.
[[nodiscard]] ServerFacts ask_server(const LoadOptions& options, const std::vector<int32_t>& prompt,
                                     const experiments::serving::Clock& clock,
                                     const std::atomic<bool>& stop);

// A streaming request for `output_tokens` greedy tokens.
[[nodiscard]] Question question_of(const LoadOptions& options, const ServerFacts& facts,
                                   const std::vector<int32_t>& prompt, int64_t output_tokens);

// Makes a target that sends each running request on its own connection and thread. Connections and
// threads are reused, and closed when they have been idle for long. A request that fails, or whose
// answer has another length than asked for, gets outcome kFailed with the reason. flush() always
// returns false, because a server cannot be made to forget.
[[nodiscard]] std::unique_ptr<experiments::serving::Target> make_server_target(
    const LoadOptions& options, const ServerFacts& facts, const experiments::serving::Clock& clock);

}  // namespace reprise::server
