// Any OpenAI-compatible server as the target of a serving run: the client side of `reprise load`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/tokenizer/tokenizer.h"
#include "experiments/kinds/serving/completion_client.h"
#include "experiments/serving/clock.h"
#include "experiments/serving/target.h"

namespace reprise::server {

struct LoadOptions {
  ServerPlace place;
  std::string model;  // "": the first that the server lists
  // Prompts are sent as text, for servers that take no token ids; how many tokens the server makes
  // of it is its own affair. Needs the tokenizer that the ids are of.
  bool sends_text = false;
  std::shared_ptr<const Tokenizer> tokenizer;
  int64_t most_connections = 512;  // requests beyond wait for one, and are sent late
};

// What the server answered when it was asked.
struct ServerFacts {
  std::string model;
  // It takes the fields that make it generate all tokens that are asked for and tell how many an
  // event holds: ignore_eos, stream_options, return_token_ids, timings_per_token. Servers ignore
  // what they don't know; one that refuses gets none of them.
  bool takes_extensions = true;
  bool tells_cached_tokens = false;
};

// Asks for its models and for one token after `prompt`, which it may cache: one token of the
// vocabulary will do. Throws Error, naming the URL, where there
// is no server, where it lists no model and `options` names none, and where it refuses the prompt,
// with its message.
[[nodiscard]] ServerFacts ask_server(const LoadOptions& options, const std::vector<int32_t>& prompt,
                                     const experiments::serving::Clock& clock);

// The body of a request for `output_tokens` greedy tokens, streamed.
[[nodiscard]] std::string completion_body(const LoadOptions& options, const ServerFacts& facts,
                                          const std::vector<int32_t>& prompt,
                                          int64_t output_tokens);

// One thread and one connection for each request under way, kept for later requests and closed when
// idle for long. Whatever goes wrong with a request is its outcome kFailed with the reason, and so
// is an answer of another length than was asked for. Tokens are reported with the end of their
// request, with the times at which they came. A declared prefix is a request for one token after
// it. flush() is always false: nobody can make a server forget.
[[nodiscard]] std::unique_ptr<experiments::serving::Target> make_server_target(
    const LoadOptions& options, const ServerFacts& facts, const experiments::serving::Clock& clock);

}  // namespace reprise::server
