// Chooses, on held-out prompts, a similarity threshold that bounds the loss of accuracy through
// reuse. This is beyond the paper, which sets 0.99 by hand.
#pragma once

#include <cstdint>
#include <span>

namespace reprise::attn_cache {

// The loss of one held-out prompt that reuses the nearest stored maps, however similar they are.
struct CalibrationPoint {
  double similarity = 0;  // -infinity if no stored prompt fits
  double loss = 0;        // from 0 to most_loss, for example 1 if the answer became wrong
};

struct CalibratedThreshold {
  double threshold = 0;     // maps are reused at this similarity or more
  double hit_ratio = 0;     // share of the points at which maps are reused
  double mean_loss = 0;     // mean loss of all points; a point without reuse counts as 0
  double bounded_loss = 0;  // (n mean_loss + most_loss) / (n + 1), which is at most `target`
};

// Returns the lowest threshold t for which
//   n / (n + 1) * mean_i(loss_i [similarity_i >= t]) + most_loss / (n + 1) <= target.
// Then the expected loss of the next prompt is at most `target` for any distribution, if the points
// and the next prompt are exchangeable and the database was fixed before they were drawn (conformal
// risk control, Angelopoulos et al. 2022, theorem 1). The expectation is also over the points: it
// does not bound the loss for one given set. Throws Error if n < most_loss / target - 1, which is
// too few points for `target`, and for a loss outside [0, most_loss].
CalibratedThreshold calibrate_threshold(std::span<const CalibrationPoint> points, double target,
                                        double most_loss = 1.0);

}  // namespace reprise::attn_cache
