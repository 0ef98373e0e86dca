// Whether methods that served the same requests generated the same tokens, and if not, why.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/framework/kind.h"
#include "experiments/kinds/shared/group_ties.h"
#include "experiments/serving/request_log.h"
#include "workloads/serving/request_source.h"

namespace reprise::experiments {

[[nodiscard]] std::vector<MetricInfo> agreement_metrics();

// A request that two runs served with other tokens.
struct Parting {
  int64_t request = 0;
  int64_t token_index = 0;  // the first that differs
  int32_t first_token = 0, token = 0;
};

// Of the requests that both served, with as many tokens each, in their order.
[[nodiscard]] std::vector<Parting> partings_of(const serving::RequestLog& log,
                                               const serving::RequestLog& first);

// Sets the share of equal requests in `out`, of those that both served, if there are any, and
// returns the others.
std::vector<Parting> add_agreement(const serving::RequestLog& log, const serving::RequestLog& first,
                                   Measurement& out);

// Where add_agreement() set a share, finds out of as many partings as the group asks for whether
// they are near ties; each then stands in the answers with its two tokens, their gap and the
// deviation that may explain it. Throws as GroupTies::judge(), which may load a second model: to be
// called when no memory is measured any more.
void add_judgement(GroupTies& ties, const Group& group, const workloads::RequestSource& source,
                   const serving::RequestLog& first, std::vector<Parting> partings,
                   Measurement& out);

}  // namespace reprise::experiments
