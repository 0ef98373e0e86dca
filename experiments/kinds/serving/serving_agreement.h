// Checks whether methods that served the same requests generated the same tokens, and if not, why.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/framework/kind.h"
#include "experiments/kinds/shared/group_ties.h"
#include "experiments/serving/request_log.h"
#include "workloads/serving/request_source.h"

namespace reprise::experiments {

[[nodiscard]] std::vector<MetricInfo> agreement_metrics();

// A request for which two runs, `first` and a later one, generated different tokens.
struct Parting {
  int64_t request = 0;
  std::vector<int32_t> common;  // the generated tokens before the first one that differs
  int32_t first_token = 0, token = 0;
};

// The requests for which both runs generated equally many but different tokens, in order.
[[nodiscard]] std::vector<Parting> partings_of(const serving::RequestLog& log,
                                               const serving::RequestLog& first);

// Sets in `out` the share of requests without a parting among the requests that both runs served.
// Sets nothing if there are no such requests. Returns the partings.
std::vector<Parting> add_agreement(const serving::RequestLog& log, const serving::RequestLog& first,
                                   Measurement& out);

// If add_agreement() set a share, judges whether the two tokens of a parting are a near tie, for as
// many partings as the group's axis judged_partings allows. Lists each judged parting in the
// answers with its two tokens, the gap between their logits, and the deviation that may explain the
// gap. Throws as GroupTies::judge(). Call it after all memory has been measured, since judge() may
// load a second model.
void add_judgement(GroupTies& ties, const Group& group, const workloads::RequestSource& source,
                   std::vector<Parting> partings, Measurement& out);

}  // namespace reprise::experiments
