#include "methods/attn_cache/calibrate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/error.h"

namespace reprise::attn_cache {
namespace {

void check(std::span<const CalibrationPoint> points, double target, double most_loss) {
  if (!(target > 0.0) || !(most_loss > 0.0))
    raise("a threshold is calibrated for a loss of {} of at most {}: both are above 0", target,
          most_loss);
  for (const CalibrationPoint& point : points)
    if (!(point.loss >= 0.0 && point.loss <= most_loss) || std::isnan(point.similarity))
      raise("a calibration point has similarity {} and loss {}: losses are from 0 to {}",
            point.similarity, point.loss, most_loss);
  const auto n = static_cast<double>(points.size());
  if (most_loss / (n + 1.0) > target)
    raise("{} held-out prompts cannot bound the loss by {}: take {} or more, or a larger bound",
          points.size(), target, static_cast<int64_t>(std::ceil(most_loss / target - 1.0)));
}

}  // namespace

CalibratedThreshold calibrate_threshold(std::span<const CalibrationPoint> points, double target,
                                        double most_loss) {
  check(points, target, most_loss);
  std::vector<CalibrationPoint> sorted(points.begin(), points.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.similarity > b.similarity; });
  const auto n = static_cast<double>(sorted.size());
  const auto bound = [&](double sum) { return (sum + most_loss) / (n + 1.0); };
  // Begins with a threshold above all similarities, at which nothing is reused.
  double threshold = 1.0;
  if (!sorted.empty() && std::isfinite(sorted.front().similarity))
    threshold = std::max(1.0, sorted.front().similarity);
  CalibratedThreshold best{.threshold = std::nextafter(threshold, 2.0 * std::abs(threshold) + 1.0),
                           .bounded_loss = bound(0.0)};
  double sum = 0.0;
  for (size_t i = 0; i < sorted.size();) {
    const double similarity = sorted[i].similarity;
    if (std::isinf(similarity)) break;  // no stored prompt fits the remaining points
    size_t end = i;
    for (; end < sorted.size() && sorted[end].similarity == similarity; ++end)
      sum += sorted[end].loss;
    if (bound(sum) > target) break;
    i = end;
    best = {.threshold = similarity,
            .hit_ratio = static_cast<double>(i) / n,
            .mean_loss = sum / n,
            .bounded_loss = bound(sum)};
  }
  return best;
}

}  // namespace reprise::attn_cache
