// When an experiment's requests come: times drawn before the run, so that nothing that happens in
// it can move them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace reprise::workloads {

struct ArrivalOptions {
  // Requests per second: in the long run; of a ramp, at its beginning; between bursts.
  double rate_rps = 1;
  double cv = 1;               // of the gaps: standard deviation over mean; gamma
  int64_t most_in_flight = 1;  // closed
  uint64_t seed = 1;           // Seeds.arrivals: of the stream that gaps are drawn from
  double end_rate_rps = 1;     // ramp: from its end on
  // Ramp: how long the rate takes from one to the other. 0: the whole run, as long as the requests
  // are expected to take; more of them then move all.
  double ramp_s = 0;
  double burst_rate_rps = 1;          // burst: within one; a run begins with one
  double burst_s = 1, between_s = 1;  // burst: their length, and the time from one to the next
  // Trace: RequestSource::arrivals_s(), ascending (CHECK). More requests than these: an Error.
  std::vector<double> recorded_s = {};
  // Trace: time is stretched until all that was recorded has this mean rate. 0: as recorded.
  double recorded_rate_rps = 0;
};

struct ArrivalSchedule {
  // Seconds from the start of the run to each request, ascending. Latency counts from these.
  std::vector<double> intended_s;
  // Closed: a request is sent once fewer than these are under way, as by so many users who wait
  // for their answers; its intended time is when that happens. 0: open, nobody waits.
  int64_t most_in_flight = 0;
};

class Arrivals {
 public:
  virtual ~Arrivals() = default;
  // Of requests 0, 1, ..., items - 1. The gap before request i is drawn by element (i, ...) of the
  // stream `seed` alone, so more requests leave the earlier times as they are.
  [[nodiscard]] virtual ArrivalSchedule schedule(int64_t items) const = 0;
};

struct ArrivalInfo {
  std::string name;
  std::string summary;
};

// "poisson", "gamma", "constant", "closed", "ramp", "burst", "trace", in the order `reprise list`
// shows them. Within a ramp and within bursts gaps are exponential.
std::vector<ArrivalInfo> known_arrivals();

// Throws Error for an unknown name, with the nearest, and for options that the process cannot have:
// a rate or cv that is not finite and above 0 (at the beginning of a ramp and between bursts: below
// 0), a length of bursts likewise, fewer than one request under way, a trace without times or one
// of a single moment that is to have a rate.
std::unique_ptr<Arrivals> make_arrivals(const std::string& name, const ArrivalOptions& options);

}  // namespace reprise::workloads
