// The counters of prompt tokens in a server's /metrics.
#pragma once

#include <optional>
#include <string_view>

namespace reprise::server {

// Prompt tokens since the server's start.
struct PromptCounters {
  double prompt_tokens = 0;
  double cached_tokens = 0;  // prompt tokens found in the cache
};

// Reads the counters, summed over labels, from the Prometheus text of vLLM, SGLang, Dynamo's
// frontend or `reprise serve`. Returns nullopt for the text of any other server.
[[nodiscard]] std::optional<PromptCounters> prompt_counters(std::string_view metrics);

}  // namespace reprise::server
