// Similarity of two sentence vectors.
#pragma once

#include <cmath>
#include <span>

#include "core/base/error.h"

namespace reprise::sentence {

// Returns <a, b> / (|a| |b|), summed in double. Returns 0 if either vector is 0, and NaN if a
// number of either is not finite. The lengths must be equal (CHECK).
inline double cosine(std::span<const float> a, std::span<const float> b) {
  REPRISE_CHECK(a.size() == b.size(), "{} and {} numbers", a.size(), b.size());
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += double{a[i]} * double{b[i]};
    aa += double{a[i]} * double{a[i]};
    bb += double{b[i]} * double{b[i]};
  }
  return aa == 0 || bb == 0 ? 0.0 : ab / std::sqrt(aa * bb);
}

}  // namespace reprise::sentence
