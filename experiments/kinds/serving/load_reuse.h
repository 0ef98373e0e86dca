// Checks the cached tokens that a server reports against the tokens that the run's prompts share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/kinds/serving/load_client.h"
#include "experiments/kinds/serving/server_counters.h"
#include "experiments/serving/run.h"
#include "workloads/serving/request_source.h"

namespace reprise::server {

// The server's counters before and after the run; nullopt: it has none.
struct CountersAround {
  std::optional<PromptCounters> before, after;
};

// Compares the cached tokens with what the served requests share with each other, and makes the run
// INVALID if there are more. Each request may find two tokens more than it shares, such as one that
// begins every prompt; a chat may also find the tokens that the server's template added. The
// answers tell the cached tokens; or else the growth of the server's counters, if every request was
// served and only our prompts were counted: the run's and the `other_tokens` of warm-up and
// prefixes. Otherwise the verdict gets a reservation. Returns who told: "answers", "counters" or
// "nobody".
std::string judge_reuse(const workloads::RequestSource& source, const CountersAround& counters,
                        int64_t other_tokens, PromptForm form,
                        experiments::serving::RunResult& result);

// Sentences about a log whose requests fared differently at its end than at its beginning: a median
// time to first token that fell to less than half from the first quarter to the last, or a share of
// cached prompt tokens that moved by more than a fifth. Empty for fewer than 32 served requests.
[[nodiscard]] std::vector<std::string> changes_within(const experiments::serving::RequestLog& log);

}  // namespace reprise::server
