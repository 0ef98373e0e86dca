// Judges what a server found in its cache by what the prompts of the run share.
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
// INVALID if there are more. The tokens are those that the answers tell, or else those that the
// counters of the server grew by, if these counted no other prompts than ours: the run's and
// `other_tokens` of warm-up and prefixes. If neither tells, the verdict has a reservation. Each
// request may find two tokens more than it shares, such as one that begins every prompt, and in a
// chat also those that the server's template added. Returns who told: "answers", "counters" or
// "nobody".
std::string judge_reuse(const workloads::RequestSource& source, const CountersAround& counters,
                        int64_t other_tokens, PromptForm form,
                        experiments::serving::RunResult& result);

// Sentences about a log whose requests fared differently at its end than at its beginning: a median
// time to first token that fell to less than half from the first quarter to the last, or a share of
// cached prompt tokens that moved by more than a fifth. Empty for fewer than 32 served requests.
[[nodiscard]] std::vector<std::string> changes_within(const experiments::serving::RequestLog& log);

}  // namespace reprise::server
