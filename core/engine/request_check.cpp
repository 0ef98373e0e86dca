#include "core/engine/request_check.h"

#include "core/base/error.h"
#include "core/engine/sampling.h"

namespace reprise::engine {
namespace {

void check_size(const std::string& subject, const Request& request, int32_t max_sequence_tokens) {
  const auto prompt_tokens = static_cast<int64_t>(request.prompt.size());
  if (prompt_tokens == 0) raise("{} has an empty prompt: give at least one token", subject);
  if (request.max_new_tokens < 0)
    raise("{} asks for {} new tokens: ask for 0 (the prompt alone) or more", subject,
          request.max_new_tokens);
  if (prompt_tokens + request.max_new_tokens > max_sequence_tokens)
    raise("{} needs {} prompt + {} new tokens, the engine was made for sequences of {}", subject,
          prompt_tokens, request.max_new_tokens, max_sequence_tokens);
}

// With a layer policy for prefill alone, a request can generate one token only: the one that is
// drawn in the prompt's own step.
void check_new_tokens(const std::string& subject, const Request& request,
                      bool is_of_prefill_alone) {
  if (is_of_prefill_alone && request.max_new_tokens > 1)
    raise(
        "{} asks for {} new tokens, and the engine's layer policy leaves out keys that "
        "decoding reads: ask for 1 at most, or run without the policy",
        subject, request.max_new_tokens);
}

void check_shareable(const std::string& subject, const Request& request) {
  if (request.shareable_tokens < 0)
    raise("{}: shareable_tokens is {}, it must be at least 0", subject, request.shareable_tokens);
}

void check_sampling(const std::string& subject, const Request& request, int32_t vocab) {
  try {
    validate(request.sampling);
    if (request.sampling.rules != nullptr) request.sampling.rules->validate(vocab);
  } catch (const Error& error) {
    raise("{}: {}", subject, error.what());
  }
}

void check_tokens(const std::string& subject, const Request& request,
                  const model::ModelConfig& config) {
  for (size_t i = 0; i < request.prompt.size(); ++i)
    if (const int32_t id = request.prompt[i]; id < 0 || id >= config.vocab)
      raise("{}: token id {}, entry {} of the prompt, is outside {}'s vocabulary of {}", subject,
            id, i + 1, config.name, config.vocab);
  if (!request.positions.empty() && request.positions.size() != request.prompt.size())
    raise("{} has {} tokens and {} positions: give one for each token, or none", subject,
          request.prompt.size(), request.positions.size());
  // From 2^24 on, f32 does not represent every integer, which ALiBi distances need.
  constexpr int32_t kLastPosition = (1 << 24) - 1;
  for (int32_t position : request.positions)
    if (position < 0 || position > kLastPosition - request.max_new_tokens)
      raise("{}: position {} is outside [0, {}]", subject, position,
            kLastPosition - request.max_new_tokens);
  if (const int32_t most = kLastPosition + 1 - request.max_new_tokens; request.least_length > most)
    raise("{}: least_length is {}, it must be at most {}", subject, request.least_length, most);
}

// A batch-invariant engine reads each sequence by one work item, whose positions are consecutive.
void check_consecutive(const std::string& subject, const Request& request) {
  if (!has_consecutive_positions(request))
    raise(
        "{}: its positions, with those of generated tokens, are not consecutive, so a "
        "batch-invariant engine would read it in several parts: give consecutive positions and a "
        "least_length that does not exceed their end, or leave batch invariance out",
        subject);
}

}  // namespace

std::string refusal_of(const std::string& subject, const Request& request,
                       const model::ModelConfig& config, const RequestLimits& limits) {
  try {
    check_size(subject, request, limits.max_sequence_tokens);
    check_tokens(subject, request, config);
    check_shareable(subject, request);
    check_new_tokens(subject, request, limits.is_of_prefill_alone);
    if (limits.is_batch_invariant) check_consecutive(subject, request);
    check_sampling(subject, request, config.vocab);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace reprise::engine
