// Arrival times of an experiment's requests. They are drawn before the run, so nothing during the
// run can shift them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise::workloads {

// The options of all arrival processes. A field whose comment begins with the name of a process
// belongs to that process.
struct ArrivalOptions {
  // Requests per second. Ramp: the rate at the ramp's beginning. Burst: the rate between bursts.
  // Otherwise the long-run rate.
  double rate_rps = 1;
  // Gamma: coefficient of variation of the gaps, standard deviation / mean.
  double cv = 1;
  // Closed: requests in flight at once.
  int64_t most_in_flight = 1;
  uint64_t seed = 1;        // seed of the gaps: the experiment's Seeds::arrivals
  double end_rate_rps = 1;  // ramp: rate at the ramp's end and afterwards
  // Ramp: seconds in which the rate goes from rate_rps to end_rate_rps. 0: the ramp takes the
  // expected length of the whole run, which grows with the number of requests.
  double ramp_s = 0;
  double burst_rate_rps = 1;  // burst: rate within a burst; a run begins with one
  // Burst: length of a burst, and the time between two bursts.
  double burst_s = 1, between_s = 1;
  // Trace: the result of RequestSource::arrivals_s(), ascending (CHECK). make_schedule() throws
  // Error if there are more requests than times.
  std::vector<double> recorded_s = {};
  // Sessions: the result of RequestSource::waits_for(). most_in_flight is then the number of
  // sessions under way.
  std::vector<std::vector<int64_t>> waits_for = {};
  // Sessions: mean pause between an answer and the session's next request, e.g. while a tool runs.
  // Pauses are drawn from an exponential distribution.
  double pause_s = 0;
  // Sessions: recorded pauses, the result of RequestSource::pauses_s(). If most_pause_s > 0, they
  // replace the drawn pauses, and each is cut to at most most_pause_s. make_schedule() throws Error
  // if most_pause_s > 0 and there are no recorded pauses.
  std::vector<double> recorded_pauses_s = {};
  double most_pause_s = 0;
  // Trace: recorded times are stretched or compressed so that the whole recording has this mean
  // rate in requests per second. 0: the recorded times are used as they are.
  double recorded_rate_rps = 0;
};

struct ArrivalSchedule {
  // Seconds from the start of the run to each request, ascending. Latency counts from these times.
  std::vector<double> intended_s;
  // Closed: a request is sent as soon as fewer than this many are in flight, like users who wait
  // for their answers. The moment of sending is the request's intended time. 0: open loop.
  int64_t most_in_flight = 0;
  // Sessions: request i is sent pause_s[i] seconds after all answers of the requests waits_for[i]
  // have come; that moment is the request's intended time. A request that waits for no other begins
  // a session as soon as fewer than most_in_flight sessions are under way. Other arrival processes
  // leave waits_for and pause_s empty.
  std::vector<std::vector<int64_t>> waits_for = {};  // [requests]
  std::vector<double> pause_s = {};                  // [requests]

  [[nodiscard]] bool is_of_sessions() const { return !waits_for.empty(); }
};

struct ArrivalInfo {
  std::string name;
  std::string summary;
};

// "poisson", "gamma", "constant", "closed", "sessions", "ramp", "burst", "trace", in the order of
// `reprise list`. Gaps within ramps and bursts are exponential.
std::vector<ArrivalInfo> known_arrivals();

// Returns the schedule of requests 0 to items - 1 of the process `name`. The gap before request i
// depends only on `seed` and i, so more requests do not change earlier times. Throws Error for an
// unknown name, with the nearest one, and for invalid options: a rate, cv, burst length or time
// between bursts that is not finite and positive (a ramp may begin at rate 0, and the rate between
// bursts may be 0), a ramp length or pause that is not finite or below 0, most_in_flight below 1,
// sessions without conversations, a trace without times, and a rate for a trace whose times are all
// equal.
ArrivalSchedule make_schedule(const std::string& name, const ArrivalOptions& options,
                              int64_t items);

}  // namespace reprise::workloads
