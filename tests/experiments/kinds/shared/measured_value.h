// Reads values of a measurement, for the tests of several kinds.
#pragma once

#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {

// A metric's value. Throws if it was not measured.
inline double value_of(const Measurement& measured, const char* metric) {
  return measured.metrics.at(metric).value;
}
inline double value_of(const Measured& measured, const char* metric) {
  return measured.metrics.at(metric).at("value").get<double>();
}

}  // namespace reprise::experiments
