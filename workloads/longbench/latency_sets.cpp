#include "workloads/longbench/latency_sets.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace reprise::workloads::longbench {
namespace {

constexpr LatencySet kSets[] = {
    {"2wikimqa", 4887, 14, 20},
    {"gov_report", 8734, 6, 0},
    {"hotpotqa", 9151, 14, 26},
    {"multi_news", 2113, 6, 0},
    {"multifieldqa_en", 4559, 14, 20},
    {"musique", 11214, 15, 21},
    {"narrativeqa", 18409, 45, 20},
    {"passage_count", 11141, 11, 0},
    {"passage_retrieval_en", 9289, 54, 155},
    {"qasper", 3619, 86, 20},
    {"qmsum", 10614, 14, 15},
    {"samsum", 6258, 6, 195},
    {"triviaqa", 8209, 10, 267},
};

}  // namespace

std::span<const LatencySet> latency_sets() { return kSets; }

const LatencySet& find_latency_set(std::string_view name) {
  std::vector<std::string> names;
  for (const LatencySet& set : kSets) {
    if (set.name == name) return set;
    names.emplace_back(set.name);
  }
  raise("{}", unknown_name("LongBench set of the latency runs", name, names));
}

int64_t context_tokens(const LatencySet& set, int64_t most_tokens) {
  const auto tokens = std::llround(static_cast<double>(set.context_words) * kTokensPerWord);
  return std::min<int64_t>(most_tokens, 2 * tokens);
}

}  // namespace reprise::workloads::longbench
