// Chooses, on held-out prompts, a similarity threshold that bounds the loss of accuracy through
// reuse. This is beyond the paper, which sets 0.99 by hand.
#pragma once

#include <cstdint>
#include <span>

namespace reprise::attn_cache {

// The effect of reusing the nearest stored maps on one held-out prompt, whatever the similarity.
struct CalibrationPoint {
  double similarity = 0;  // -infinity if no stored prompt fits
  double loss = 0;        // from 0 to most_loss, for example 1 if the answer became wrong
};

struct CalibratedThreshold {
  double threshold = 0;     // reuse at this similarity or more; above all points: never
  double hit_ratio = 0;     // share of points that reuse
  double mean_loss = 0;     // mean over the points; points without reuse count 0
  double bounded_loss = 0;  // (n mean_loss + most_loss) / (n + 1), which is at most `target`
};

// The lowest threshold t with
//   n / (n + 1) * mean_i(loss_i [similarity_i >= t]) + most_loss / (n + 1) <= target.
// Then the expected loss of the next prompt is at most `target` for any distribution, if the points
// and the next prompt are exchangeable and the database was fixed before they were drawn (conformal
// risk control, Angelopoulos et al. 2022, theorem 1). The expectation is also over the points: it
// does not bound the loss for one given set. Throws Error if there are too few points for the
// target (n < most_loss / target - 1), and for a loss out of range.
CalibratedThreshold calibrate_threshold(std::span<const CalibrationPoint> points, double target,
                                        double most_loss = 1.0);

}  // namespace reprise::attn_cache
