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

struct SentAs {
  PromptForm form = PromptForm::kTokenIds;
  int64_t template_tokens = 0;  // ServerFacts::template_tokens
};

// Makes the run INVALID if the server found more cached tokens than the served requests share with
// each other. Each request may find two tokens more, such as a token that begins every prompt, and
// a chat also the tokens of the server's template. The tokens that the server makes of a text may
// be more or fewer than those that were decoded: a request's shared tokens are multiplied by the
// ratio of the two numbers, and a tenth more is allowed.
//
// The number of cached tokens comes from the answers, or else from the growth of the server's
// counters. The counters are used only if every request was served and their count of prompt tokens
// grew by what was sent: the run's prompts and the `other_tokens` of warm-up and prefixes. The
// growth may be off by 2 %; for text and chats it may be a third more or a quarter less. If neither
// source is known, if the template's size is not, or if no request was served, the verdict gets a
// reservation. Returns the source: "answers", "counters" or "nobody".
std::string judge_reuse(const workloads::RequestSource& source, const CountersAround& counters,
                        int64_t other_tokens, const SentAs& sent_as,
                        experiments::serving::RunResult& result);

// Compares the last quarter of the served requests with the first quarter. Returns a sentence if
// the median time to first token fell to less than half, and one if the share of cached prompt
// tokens moved by more than 0.2. Returns none for fewer than 32 served requests.
[[nodiscard]] std::vector<std::string> changes_within(const experiments::serving::RequestLog& log);

}  // namespace reprise::server
