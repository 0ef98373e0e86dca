#include "checks/change.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "results/statistics.h"

namespace reprise::checks {
namespace {

// Returns the logarithms of the samples, or of the medians of kMostCompared batches if there are
// more samples.
std::vector<double> logarithms_of(std::span<const double> samples) {
  const size_t batches = std::min<size_t>(samples.size(), kMostCompared);
  std::vector<double> logarithms;
  for (size_t b = 0; b < batches; ++b) {
    const size_t first = b * samples.size() / batches;
    const size_t end = (b + 1) * samples.size() / batches;
    logarithms.push_back(std::log(results::summarize(samples.subspan(first, end - first)).median));
  }
  return logarithms;
}

// Appends the differences of consecutive samples of the same program. Each sample is in one
// difference at most.
void add_pairs(std::span<const double> logarithms, std::vector<double>& differences) {
  for (size_t i = 1; i < logarithms.size(); i += 2)
    differences.push_back(logarithms[i] - logarithms[i - 1]);
}

}  // namespace

bool has_logarithms(std::span<const double> samples) {
  return !samples.empty() &&
         std::all_of(samples.begin(), samples.end(), [](double sample) { return sample > 0; });
}

std::optional<Change> change_of(std::span<const double> before, std::span<const double> after,
                                const ChangeOptions& options) {
  REPRISE_CHECK(options.comparisons > 0 && options.false_alarm > 0 && options.margin > 0);
  if (!has_logarithms(before) || !has_logarithms(after)) return std::nullopt;
  const std::vector<double> x = logarithms_of(before), y = logarithms_of(after);
  Change change;
  change.alpha = options.false_alarm / static_cast<double>(options.comparisons);
  change.shift = results::unpaired_shift(x, y, change.alpha);
  change.has_too_few_samples = !std::isfinite(change.shift.low);
  std::vector<double> differences;
  add_pairs(x, differences);
  add_pairs(y, differences);
  if (change.has_too_few_samples || differences.empty()) return change;
  const Look look{.rounds = static_cast<int>(std::min(x.size(), y.size())), .alpha = change.alpha};
  change.verdict =
      judge(change.shift, margins_of(std::log1p(options.margin), noise_of(differences, look)));
  return change;
}

}  // namespace reprise::checks
