// When an experiment's requests come: times drawn before the run, so that nothing that happens in
// it can move them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace reprise::workloads {

struct ArrivalOptions {
  double rate_rps = 1;         // requests per second in the long run; open processes
  double cv = 1;               // of the gaps: standard deviation over mean; gamma
  int64_t most_in_flight = 1;  // closed
  uint64_t seed = 1;           // Seeds.arrivals: of the stream that gaps are drawn from
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

// "poisson", "gamma", "constant", "closed", in the order `reprise list` shows them.
std::vector<ArrivalInfo> known_arrivals();

// Throws Error for an unknown name, with the nearest, and for options that the process cannot have:
// a rate or cv that is not finite and above 0, fewer than one request under way.
std::unique_ptr<Arrivals> make_arrivals(const std::string& name, const ArrivalOptions& options);

}  // namespace reprise::workloads
