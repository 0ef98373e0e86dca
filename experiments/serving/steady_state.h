// Finds the request from which on a run is in a steady state.
#pragma once

#include <cstdint>
#include <optional>

#include "experiments/serving/request_log.h"

namespace reprise::experiments::serving {

// MSER-5 [White 1997; Spratt 1998] over the normalised latencies of the served requests, in the
// order of their intended arrivals. x_1 to x_m are the means of five requests each. The first d of
// these means are dropped, with d <= m / 2 chosen to minimise the squared standard error of the
// mean of the rest,
//   sum of (x_i - mean)^2 over i > d, divided by (m - d)^2.
// If d is m / 2, the mean still moved in the second half, and no steady state was found. Simulated
// runs at twice the rate that the server can sustain had no steady state in 70 % (100 requests),
// 90 % (300 requests) or 99 % (1000 requests) of cases. Simulated runs at four fifths of the rate
// that the server can sustain had none in 10 %, 2 % or 1 % of cases.
struct SteadyState {
  int64_t from = 0;   // number of requests before the steady state, in order of intended arrival
  double mean_s = 0;  // mean normalised latency in the steady state, in seconds per token
  bool is_found = false;
};

// Returns nullopt if fewer than 100 requests were served.
[[nodiscard]] std::optional<SteadyState> steady_state(const RequestLog& log);

inline constexpr const char* kNoSteadyState =
    "no steady state by MSER-5: the normalised latency moved until the second half";

}  // namespace reprise::experiments::serving
