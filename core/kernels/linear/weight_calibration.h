// Finds the prefetch with which products of a few rows read weights of one format fastest. The
// settings take turns, each on another matrix in memory.
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
  // Makes the matrices, in a few tenths of a second.
  WeightCalibration(WeightFormat format, const Context& context);

  // Measures products of `rows` rows, 1 to 64. If an eighth of the free memory holds fewer than
  // two matrices of 8 million weights, keeps the default unmeasured. If REPRISE_WEIGHT_FETCH is
  // set, returns it without measuring.
  Calibration<WeightFetch> run(int64_t rows);

 private:
  WeightFormat format_;
  Context context_;
  std::vector<Weight> matrices_;
};

}  // namespace reprise::kernels
