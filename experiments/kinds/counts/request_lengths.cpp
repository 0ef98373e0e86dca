#include "experiments/kinds/counts/request_lengths.h"

#include <algorithm>
#include <numeric>

#include "core/base/problems.h"
#include "experiments/kinds/serving/serving_axes.h"
#include "experiments/kinds/shared/bench.h"
#include "experiments/kinds/shared/places.h"

namespace reprise::experiments {
namespace {

constexpr const char* kPrompts = "prompts";
constexpr const char* kOutputs = "outputs";
constexpr const char* kOwn = "own";
constexpr const char* kShared = "shared";
constexpr const char* kPrefixes = "prefixes";

const MetricInfo kTokens = {"tokens", "tokens", "that so many percent of them do not exceed"};
const MetricInfo kCount = {"count", "requests", "or declared prefixes, that were counted"};
const MetricInfo kMean = {"mean_tokens", "tokens", "on average"};
const MetricInfo kLeast = {"least_tokens", "tokens", "the shortest"};
const MetricInfo kMost = {"most_tokens", "tokens", "the longest"};
const MetricInfo kOfPrompts = {"of_prompt_tokens", "ratio",
                               "total_tokens over those of all prompts; of `shared`, the hit rate "
                               "of a prefix cache that forgets nothing"};
const MetricInfo kTotal = {"total_tokens", "tokens", "all together"};

struct RequestLengthsAxes {
  SourceAxes source;
  int64_t percent = 50;

  void visit(AxisVisitor& visitor) {
    source.visit(visitor);
    visitor.integer({"percent", "%", "share of the requests that are no longer than `tokens`"},
                    {0, 100}, percent);
  }
};

// The percentile: the smallest of `values` that at least `percent` % of them do not exceed.
// `values` must be ascending.
double percentile_of(const std::vector<double>& values, int64_t percent) {
  const auto count = std::ssize(values);
  const int64_t rank = std::max<int64_t>(1, (percent * count + 99) / 100);
  return values[static_cast<size_t>(rank - 1)];
}

}  // namespace

KindInfo RequestLengthsKind::info() {
  return {.name = "request_lengths",
          .summary = "how long the requests of a serving workload are; nothing is run",
          .axes = list_axes<RequestLengthsAxes>(),
          .metrics = {kTokens, kMean, kLeast, kMost, kTotal, kOfPrompts, kCount},
          .series = {{kPrompts, "tokens of the prompts"},
                     {kOwn, "tokens of the prompts behind their declared prefixes"},
                     {kOutputs, "tokens to generate"},
                     {kShared, "leading tokens that an earlier prompt or a declared prefix has"},
                     {kPrefixes, "tokens of the declared prefixes"}},
          .method_use = std::nullopt,
          .own_workloads = serving_workloads()};
}

void RequestLengthsKind::check(const Group& group) {
  const std::atomic<bool> goes_on = false;
  Problems problems;
  // A model that is missing must not hide a file that is missing, too.
  problems.collect([&] { (void)existing_path(group.workload.file); });
  problems.collect([&] { (void)lengths(group, goes_on); });
  problems.raise_if_any();
}

MemoryNeed RequestLengthsKind::memory_need(const Group& /*group*/) { return {}; }

const RequestLengthsKind::Lengths& RequestLengthsKind::lengths(const Group& group,
                                                               const std::atomic<bool>& stop) {
  const SourceAxes axes = group.axes_as<RequestLengthsAxes>().source;
  std::string what = source_key(group, axes);
  if (what == counted_of_) return lengths_;
  Lengths counted;
  for (const char* series : {kPrompts, kOwn, kOutputs, kShared, kPrefixes})
    counted.try_emplace(series);
  const auto source = request_source_of(group, axes, Bench::config(group).vocab);
  const std::vector<workloads::DeclaredPrefix> prefixes = source->prefixes();
  for (int64_t i = 0; i < source->size(); ++i) {
    if (stop) throw Interrupted{};
    const workloads::ServingRequest request = source->request(i);
    counted[kPrompts].push_back(static_cast<double>(request.prompt.size()));
    const size_t before =
        request.prefix < 0 ? 0 : prefixes[static_cast<size_t>(request.prefix)].tokens.size();
    counted[kOwn].push_back(static_cast<double>(request.prompt.size() - before));
    counted[kOutputs].push_back(static_cast<double>(request.output_tokens));
    counted[kShared].push_back(static_cast<double>(request.shared_tokens));
  }
  for (const workloads::DeclaredPrefix& prefix : prefixes)
    counted[kPrefixes].push_back(static_cast<double>(prefix.tokens.size()));
  for (auto& [of_what, tokens] : counted) std::sort(tokens.begin(), tokens.end());
  lengths_ = std::move(counted);
  counted_of_ = std::move(what);
  return lengths_;
}

std::vector<Measurement> RequestLengthsKind::measure(const Group& group, const Machine& /*machine*/,
                                                     const std::atomic<bool>& stop) {
  const int64_t percent = group.axes_as<RequestLengthsAxes>().percent;
  const auto sum = [](const std::vector<double>& tokens) {
    return std::accumulate(tokens.begin(), tokens.end(), 0.0);
  };
  const double of_prompts = sum(lengths(group, stop).at(kPrompts));
  std::vector<Measurement> measurements;
  for (const MethodChoice& method : group.methods) {
    Measurement& out = measurements.emplace_back();
    const std::vector<double>& tokens = lengths(group, stop).at(method.name);
    out.set(kCount, static_cast<double>(tokens.size()));
    if (tokens.empty()) continue;
    const double total = sum(tokens);
    out.set(kOfPrompts, total / of_prompts);
    out.set(kTokens, percentile_of(tokens, percent));
    out.set(kMean, total / static_cast<double>(tokens.size()));
    out.set(kLeast, tokens.front());
    out.set(kMost, tokens.back());
    out.set(kTotal, total);
  }
  return measurements;
}

}  // namespace reprise::experiments
