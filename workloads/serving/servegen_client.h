// ServeGen's statistics of one client: how its rate and its lengths change over time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "workloads/gap_draws.h"
#include "workloads/serving/length_histogram.h"

namespace reprise::workloads::serving {

// Returns the path of a client's lengths: NAME-dataset.json in the folder of NAME-trace.csv.
// Returns an empty path for a file of any other name.
std::filesystem::path dataset_beside(const std::filesystem::path& trace);

class ServeGenClient {
 public:
  // Reads FILE-trace.csv and FILE-dataset.json beside it; see servegen.cpp. Throws Error with file
  // and line, or key.
  explicit ServeGenClient(const std::filesystem::path& trace);

  // Seconds from the start of the first window to the end of the last.
  [[nodiscard]] double length_s() const;

  // Draws arrivals from a given time on, one after another.
  class Arrivals {
   public:
    // start_s >= 0. `client` must outlive this object.
    Arrivals(const ServeGenClient& client, double start_s);
    // Returns the time of the next arrival in seconds, using `draws` for the gap before it. A time
    // of length_s() or more means that no arrival is left.
    double next_s(GapDraws draws);

   private:
    const ServeGenClient& client_;
    size_t window_ = 0;
    double at_s_;
  };

  struct Lengths {
    LengthHistogram input, output;
  };
  // Returns the lengths recorded for the window of this arrival time. Throws Error if none were
  // recorded.
  [[nodiscard]] const Lengths& lengths_at(double time_s) const;

 private:
  friend class Arrivals;
  enum class Family : uint8_t { kNone, kGamma, kWeibull };
  struct Window {
    double start_s = 0, end_s = 0, rate_rps = 0;
    Family family = Family::kNone;
    double shape = 1;
  };
  struct LengthWindow {
    double start_s = 0;
    Lengths lengths;
  };
  void read_windows();
  void read_lengths();

  std::filesystem::path trace_, dataset_;
  std::vector<Window> windows_;        // not empty, ascending; the first starts at 0
  std::vector<LengthWindow> lengths_;  // ascending
};

}  // namespace reprise::workloads::serving
