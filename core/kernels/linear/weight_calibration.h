// Finds the prefetch setting with which products of a few rows read weights of one format fastest.
// The settings take turns; each trial reads another matrix, which is in memory and not in a cache.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/weight_format.h"
#include "core/device/context.h"
#include "core/kernels/linear/weight.h"
#include "core/kernels/shared/contest.h"

namespace reprise::kernels {

class WeightCalibration {
 public:
  // Makes the matrices, which takes a few tenths of a second.
  WeightCalibration(WeightFormat format, const Context& context);

  // Measures products of `rows` rows, 1 to 64. Returns the default without measuring if an eighth
  // of the free memory has no room for two matrices of 8 million weights. Returns the setting of
  // REPRISE_WEIGHT_FETCH without measuring if that variable is set.
  Calibration<WeightFetch> run(int64_t rows);

 private:
  WeightFormat format_;
  Context context_;
  std::vector<Weight> matrices_;
};

}  // namespace reprise::kernels
