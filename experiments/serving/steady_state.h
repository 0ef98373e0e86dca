// Finds the request from which on a run is in a steady state.
#pragma once

#include <cstdint>
#include <optional>

#include "experiments/serving/request_log.h"

namespace reprise::experiments::serving {

// MSER-5 [White 1997; Spratt 1998] over the normalised latencies of the served requests, in the
// order of their intended arrivals: of the means of five requests each, x_1 to x_m, the first d are
// dropped, where d <= m / 2 makes the standard error of the mean of the others the smallest,
//   sum of (x_i - mean)^2 over i > d, divided by (m - d)^2.
// If d is m / 2, the mean still moved in the second half, and no steady state was found. Of
// simulated runs of 100, 300 and 1000 requests, that is so in 70, 90 and 99 % at twice the rate
// that is served, and in 10, 2 and 1 % at four fifths of it.
struct SteadyState {
  int64_t from = 0;   // number of requests before the steady state, in order of intended arrival
  double mean_s = 0;  // mean normalised latency from there on, in seconds per token
  bool is_found = false;
};

// nullopt: fewer than 100 requests were served.
[[nodiscard]] std::optional<SteadyState> steady_state(const RequestLog& log);

inline constexpr const char* kNoSteadyState =
    "no steady state by MSER-5: the normalised latency moved until the second half";

}  // namespace reprise::experiments::serving
