// A similarity threshold that bounds what reuse costs, chosen on held-out prompts. Beyond the
// paper, which sets 0.99 by hand.
#pragma once

#include <cstdint>
#include <span>

namespace reprise::attn_cache {

// What reusing the nearest stored maps did to a held-out prompt, whatever the similarity.
struct CalibrationPoint {
  double similarity = 0;  // -infinity where nothing fits
  double loss = 0;        // 0 .. most_loss: e.g. 1 where the answer became wrong
};

struct CalibratedThreshold {
  double threshold = 0;     // reuse from this similarity on; above all that were seen: never
  double hit_ratio = 0;     // of the points
  double mean_loss = 0;     // of the points, those without reuse counting 0
  double bounded_loss = 0;  // (n mean_loss + most_loss) / (n + 1), which is at most `target`
};

// The lowest threshold t with  n / (n + 1) * mean_i(loss_i [similarity_i >= t]) + most_loss / (n +
// 1) <= target. Then the expected loss of the next prompt is at most `target`, whatever the
// distribution, where points and next prompt are exchangeable and the database was fixed before:
// conformal risk control (Angelopoulos et al. 2022, theorem 1), the split-conformal bound for a
// loss that falls with t. The expectation is over the points too: it is no promise for a given set.
// Points with one similarity stand or fall together. Throws Error where points are too few for the
// target (n < most_loss / target - 1), and for a loss out of range.
CalibratedThreshold calibrate_threshold(std::span<const CalibrationPoint> points, double target,
                                        double most_loss = 1.0);

}  // namespace reprise::attn_cache
