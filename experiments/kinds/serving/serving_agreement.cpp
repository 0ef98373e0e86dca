#include "experiments/kinds/serving/serving_agreement.h"

#include <algorithm>
#include <utility>

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

// Returns, for each request that both runs served, its entry in `log` and its entry in `first`.
std::vector<std::pair<const serving::RequestEntry*, const serving::RequestEntry*>> served_by_both(
    const RequestLog& log, const RequestLog& first) {
  std::vector<std::pair<const serving::RequestEntry*, const serving::RequestEntry*>> both;
  auto at = first.requests.begin();  // ascending by index, but a run may have been given up
  for (const serving::RequestEntry& entry : log.requests) {
    while (at != first.requests.end() && at->index < entry.index) ++at;
    if (at == first.requests.end()) break;
    if (at->index == entry.index && entry.outcome == serving::Outcome::kServed &&
        at->outcome == serving::Outcome::kServed)
      both.emplace_back(&entry, &*at);
  }
  return both;
}

// The prompt, and the generated tokens that the two runs have in common before they differ.
std::vector<int32_t> text_before(const Parting& parting, const workloads::RequestSource& source) {
  std::vector<int32_t> text = source.request(parting.request).prompt;
  text.insert(text.end(), parting.common.begin(), parting.common.end());
  return text;
}

}  // namespace

std::vector<MetricInfo> agreement_metrics() { return {kEqualRequests, kUnexplainedRequests}; }

std::vector<Parting> partings_of(const RequestLog& log, const RequestLog& first) {
  std::vector<Parting> partings;
  for (const auto& [entry, of_first] : served_by_both(log, first)) {
    const std::vector<int32_t>&tokens = entry->tokens, &want = of_first->tokens;
    REPRISE_CHECK(tokens.size() == want.size(), "request {} has {} tokens and {}", entry->index,
                  tokens.size(), want.size());
    const auto [token, wanted] = std::mismatch(tokens.begin(), tokens.end(), want.begin());
    if (token == tokens.end()) continue;
    partings.push_back({.request = entry->index,
                        .common = {tokens.begin(), token},
                        .first_token = *wanted,
                        .token = *token});
  }
  return partings;
}

std::vector<Parting> add_agreement(const RequestLog& log, const RequestLog& first,
                                   Measurement& out) {
  const size_t both = served_by_both(log, first).size();
  if (both == 0) return {};
  std::vector<Parting> partings = partings_of(log, first);
  out.set(kEqualRequests, 1 - static_cast<double>(partings.size()) / static_cast<double>(both));
  return partings;
}

void add_judgement(GroupTies& ties, const Group& group, const workloads::RequestSource& source,
                   std::vector<Parting> partings, Measurement& out) {
  const auto most = static_cast<size_t>(group.axes_as<ServingAxes>().judged_partings);
  if (most == 0 || !out.metrics.contains(kEqualRequests.name)) return;
  partings.resize(std::min(partings.size(), most));
  Values shown;
  int64_t unexplained = 0;
  for (const Parting& parting : partings) {
    const NearTie tie =
        ties.judge(text_before(parting, source), parting.first_token, parting.token);
    unexplained += tie.ratio() > kMostTieRatio ? 1 : 0;
    shown.emplace_back(Fields{{"request", parting.request},
                              {"token_index", std::ssize(parting.common)},
                              {"first_token", parting.first_token},
                              {"token", parting.token},
                              {"gap", tie.gap},
                              {"deviation", tie.deviation}});
  }
  out.answers["partings"] = std::move(shown);
  out.set(kUnexplainedRequests, static_cast<double>(unexplained));
}

}  // namespace reprise::experiments
