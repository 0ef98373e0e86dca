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

// Makes the run INVALID if the server found more cached tokens than the served requests share with
// each other. Each request may find two tokens more than it shares, such as one that begins every
// prompt; a chat may also find the tokens that the server's template added. The cached tokens are
// those that the answers report, or else the growth of the server's counters. Counters are used
// only if every request was served and they grew by exactly the run's prompts and the
// `other_tokens` of warm-up and prefixes. If neither is known, the verdict gets a reservation.
// Returns the source: "answers", "counters" or "nobody".
std::string judge_reuse(const workloads::RequestSource& source, const CountersAround& counters,
                        int64_t other_tokens, PromptForm form,
                        experiments::serving::RunResult& result);

// Compares the first and the last quarter of the served requests and returns a sentence for each
// change: if the median time to first token fell to less than half, and if the share of cached
// prompt tokens moved by more than 0.2. Empty for fewer than 32 served requests.
[[nodiscard]] std::vector<std::string> changes_within(const experiments::serving::RequestLog& log);

}  // namespace reprise::server
