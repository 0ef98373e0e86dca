#include "experiments/serving/steady_state.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "experiments/serving/latency.h"

namespace reprise::experiments::serving {
namespace {

constexpr size_t kBatch = 5;
constexpr size_t kLeastServed = 100;

std::vector<double> latencies_by_arrival(const RequestLog& log) {
  std::vector<const RequestEntry*> served;
  for (const RequestEntry& entry : log.requests)
    if (entry.outcome == Outcome::kServed) served.push_back(&entry);
  std::stable_sort(served.begin(), served.end(), [](const RequestEntry* a, const RequestEntry* b) {
    return a->intended_s < b->intended_s;
  });
  std::vector<double> latencies;
  for (const RequestEntry* entry : served) latencies.push_back(latency_of(*entry).normalised_s);
  return latencies;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> means_of_batches(std::span<const double> values) {
  std::vector<double> means;
  for (size_t at = 0; at + kBatch <= values.size(); at += kBatch)
    means.push_back(mean_of(values.subspan(at, kBatch)));
  return means;
}

}  // namespace

std::optional<SteadyState> steady_state(const RequestLog& log) {
  const std::vector<double> latencies = latencies_by_arrival(log);
  if (latencies.size() < kLeastServed) return std::nullopt;
  std::vector<double> means = means_of_batches(latencies);
  const double first = means.front();
  for (double& mean : means) mean -= first;  // sums of small numbers are exact enough
  // Squared errors below this are rounding of equal latencies: 10^-6 of the mean, squared.
  const double nothing = 1e-12 * first * first;
  const size_t most_dropped = means.size() / 2;
  // Goes from the last batch backwards and keeps sums over the batches that are not dropped.
  double sum = 0, squares = 0, least = std::numeric_limits<double>::infinity();
  size_t best = 0;
  for (size_t d = means.size(); d-- > 0;) {
    sum += means[d];
    squares += means[d] * means[d];
    if (d > most_dropped) continue;
    const auto kept = static_cast<double>(means.size() - d);
    const double error = std::max((squares - sum * sum / kept) / (kept * kept), nothing);
    if (error > least) continue;  // of equal errors, the smallest d wins
    least = error;
    best = d;
  }
  const std::span<const double> kept = std::span(latencies).subspan(best * kBatch);
  return SteadyState{.from = static_cast<int64_t>(best * kBatch),
                     .mean_s = mean_of(kept),
                     .is_found = best < most_dropped};
}

}  // namespace reprise::experiments::serving
