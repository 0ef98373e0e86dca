#include "experiments/kinds/serving/serving_agreement.h"

#include <algorithm>

#include "core/base/error.h"
#include "experiments/kinds/serving/serving_axes.h"

namespace reprise::experiments {
namespace {

using serving::RequestLog;

const MetricInfo kEqualRequests = {
    "equal_requests_ratio", "ratio",
    "of the requests that both served, those with the first method's tokens"};
const MetricInfo kUnexplainedRequests = {
    "unexplained_requests", "requests",
    "of the judged ones whose tokens part from the first method's, those that do not at a near "
    "tie: 0 for an exact method"};

bool served_both(const RequestLog& log, const RequestLog& first, size_t i) {
  return log.requests[i].index == first.requests[i].index &&  // a run may have been given up
         log.requests[i].outcome == serving::Outcome::kServed &&
         first.requests[i].outcome == serving::Outcome::kServed;
}

size_t of_both(const RequestLog& log, const RequestLog& first) {
  return std::min(log.requests.size(), first.requests.size());
}

// The text that the two runs have in common before they part.
std::vector<int32_t> text_before(const Parting& parting, const RequestLog& first,
                                 const workloads::RequestSource& source) {
  std::vector<int32_t> text = source.request(parting.request).prompt;
  const std::vector<int32_t>& tokens = first.requests[static_cast<size_t>(parting.request)].tokens;
  text.insert(text.end(), tokens.begin(), tokens.begin() + parting.token_index);
  return text;
}

}  // namespace

std::vector<MetricInfo> agreement_metrics() { return {kEqualRequests, kUnexplainedRequests}; }

std::vector<Parting> partings_of(const RequestLog& log, const RequestLog& first) {
  std::vector<Parting> partings;
  for (size_t i = 0; i < of_both(log, first); ++i) {
    if (!served_both(log, first, i)) continue;
    const std::vector<int32_t>&tokens = log.requests[i].tokens, &want = first.requests[i].tokens;
    REPRISE_CHECK(tokens.size() == want.size(), "request {} has {} tokens and {}", i, tokens.size(),
                  want.size());
    const auto [token, wanted] = std::mismatch(tokens.begin(), tokens.end(), want.begin());
    if (token == tokens.end()) continue;
    partings.push_back({.request = static_cast<int64_t>(i),
                        .token_index = token - tokens.begin(),
                        .first_token = *wanted,
                        .token = *token});
  }
  return partings;
}

std::vector<Parting> add_agreement(const RequestLog& log, const RequestLog& first,
                                   Measurement& out) {
  size_t both = 0;
  for (size_t i = 0; i < of_both(log, first); ++i) both += served_both(log, first, i) ? 1 : 0;
  if (both == 0) return {};
  std::vector<Parting> partings = partings_of(log, first);
  out.set(kEqualRequests, 1 - static_cast<double>(partings.size()) / static_cast<double>(both));
  return partings;
}

void add_judgement(GroupTies& ties, const Group& group, const workloads::RequestSource& source,
                   const RequestLog& first, std::vector<Parting> partings, Measurement& out) {
  const auto most = static_cast<size_t>(group.axes_as<ServingAxes>().judged_partings);
  if (most == 0 || !out.metrics.contains(kEqualRequests.name)) return;
  partings.resize(std::min(partings.size(), most));
  Values shown;
  int64_t unexplained = 0;
  for (const Parting& parting : partings) {
    const NearTie tie =
        ties.judge(text_before(parting, first, source), parting.first_token, parting.token);
    unexplained += tie.ratio() > kMostTieRatio ? 1 : 0;
    shown.emplace_back(Fields{{"request", parting.request},
                              {"token_index", parting.token_index},
                              {"first_token", parting.first_token},
                              {"token", parting.token},
                              {"gap", tie.gap},
                              {"deviation", tie.deviation}});
  }
  out.answers["partings"] = std::move(shown);
  out.set(kUnexplainedRequests, static_cast<double>(unexplained));
}

}  // namespace reprise::experiments
