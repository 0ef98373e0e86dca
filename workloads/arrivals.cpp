#include "workloads/arrivals.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "workloads/changing_rate.h"
#include "workloads/gap_draws.h"

namespace reprise::workloads {
namespace {

void require_above_zero(const char* process, const char* option, double value) {
  if (!(std::isfinite(value) && value > 0))
    raise("arrivals \"{}\": {} is {}, it must be a finite number above 0", process, option, value);
}

void require_not_below_zero(const char* process, const char* option, double value) {
  if (!(std::isfinite(value) && value >= 0))
    raise("arrivals \"{}\": {} is {}, it must be a finite number, 0 or above", process, option,
          value);
}

void require_in_flight(const char* process, int64_t most) {
  if (most < 1)
    raise("arrivals \"{}\": most_in_flight is {}, it must be at least 1", process, most);
}

// Makes a schedule in which request i arrives at time_of(sum of the gaps 0 to i). Each gap is drawn
// independently.
template <typename Gap, typename TimeOf>
ArrivalSchedule summed(int64_t items, uint64_t seed, Gap&& gap, TimeOf&& time_of) {
  REPRISE_CHECK(items >= 0, "items {}", items);
  ArrivalSchedule schedule;
  schedule.intended_s.reserve(static_cast<size_t>(items));
  double gaps = 0, last_s = 0;
  for (int64_t item = 0; item < items; ++item) {
    GapDraws draws(seed, item);
    gaps += gap(draws);
    last_s = std::max(last_s, time_of(gaps));  // times stay ascending in spite of rounding
    schedule.intended_s.push_back(last_s);
  }
  return schedule;
}

// Base class that stores the options.
class WithOptions : public Arrivals {
 public:
  explicit WithOptions(const ArrivalOptions& options) : options_(options) {}

 protected:
  // A schedule of constant rate. `gap` draws gaps with mean 1, in units of the mean gap.
  template <typename Gap>
  [[nodiscard]] ArrivalSchedule steady(int64_t items, Gap&& gap) const {
    return summed(items, options_.seed, gap,
                  [this](double gaps) { return gaps / options_.rate_rps; });
  }

  ArrivalOptions options_;
};

class Poisson final : public WithOptions {
 public:
  static ArrivalInfo info() {
    return {"poisson", "gaps exponential: users who know nothing of one another"};
  }
  explicit Poisson(const ArrivalOptions& options) : WithOptions(options) {
    require_above_zero("poisson", "rate_rps", options.rate_rps);
  }
  [[nodiscard]] ArrivalSchedule schedule(int64_t items) const override {
    return steady(items, exponential_gap);
  }
};

class Gamma final : public WithOptions {
 public:
  static ArrivalInfo info() {
    return {"gamma", "gaps of any coefficient of variation: above 1 in bursts, below 1 evener"};
  }
  explicit Gamma(const ArrivalOptions& options) : WithOptions(options) {
    require_above_zero("gamma", "rate_rps", options.rate_rps);
    require_above_zero("gamma", "cv", options.cv);
  }
  [[nodiscard]] ArrivalSchedule schedule(int64_t items) const override {
    const double shape = 1 / (options_.cv * options_.cv);
    return steady(items, [shape](GapDraws& draws) { return gamma_gap(shape, draws); });
  }
};

class Constant final : public WithOptions {
 public:
  static ArrivalInfo info() {
    return {"constant", "equal gaps; the first request after one of them"};
  }
  explicit Constant(const ArrivalOptions& options) : WithOptions(options) {
    require_above_zero("constant", "rate_rps", options.rate_rps);
  }
  [[nodiscard]] ArrivalSchedule schedule(int64_t items) const override {
    return steady(items, [](GapDraws&) { return 1.0; });
  }
};

class Closed final : public WithOptions {
 public:
  static ArrivalInfo info() {
    return {"closed", "so many users, each of whom waits for an answer before asking again"};
  }
  explicit Closed(const ArrivalOptions& options) : WithOptions(options) {
    require_in_flight("closed", options.most_in_flight);
  }
  [[nodiscard]] ArrivalSchedule schedule(int64_t items) const override {
    REPRISE_CHECK(items >= 0, "items {}", items);
    return {.intended_s = std::vector<double>(static_cast<size_t>(items), 0.0),
            .most_in_flight = options_.most_in_flight};
  }
};

class Sessions final : public WithOptions {
 public:
  static ArrivalInfo info() {
    return {"sessions", "so many conversations at once; a turn waits for the answer before it"};
  }
  explicit Sessions(const ArrivalOptions& options) : WithOptions(options) {
    require_in_flight("sessions", options.most_in_flight);
    require_not_below_zero("sessions", "pause_s", options.pause_s);
    require_not_below_zero("sessions", "most_pause_s", options.most_pause_s);
    if (options.waits_for.empty())
      raise(
          "arrivals \"sessions\": this workload has no conversations; set other arrivals, or take "
          "a workload that has them (\"conversations\", \"weka\", \"agentic_coding\")");
    if (takes_recorded_pauses() && options.recorded_pauses_s.empty())
      raise(
          "arrivals \"sessions\": most_pause_s limits recorded pauses, but this workload has no "
          "recorded pauses; set pause_s, or take a workload that has them (\"weka\", "
          "\"agentic_coding\")");
  }
  [[nodiscard]] ArrivalSchedule schedule(int64_t items) const override {
    REPRISE_CHECK(items == std::ssize(options_.waits_for), "{} requests, {} may wait for others",
                  items, options_.waits_for.size());
    ArrivalSchedule schedule{.intended_s = std::vector<double>(static_cast<size_t>(items), 0.0),
                             .most_in_flight = options_.most_in_flight,
                             .waits_for = options_.waits_for};
    for (int64_t item = 0; item < items; ++item) schedule.pause_s.push_back(pause_s(item));
    return schedule;
  }

 private:
  [[nodiscard]] bool takes_recorded_pauses() const { return options_.most_pause_s > 0; }
  [[nodiscard]] double pause_s(int64_t item) const {
    if (takes_recorded_pauses())
      return std::min(options_.recorded_pauses_s[static_cast<size_t>(item)], options_.most_pause_s);
    GapDraws draws(options_.seed, item);
    return options_.pause_s * exponential_gap(draws);
  }
};

class Ramp final : public WithOptions {
 public:
  static ArrivalInfo info() {
    return {"ramp", "as poisson, at a rate that goes in a line from one to another"};
  }
  explicit Ramp(const ArrivalOptions& options) : WithOptions(options) {
    require_not_below_zero("ramp", "rate_rps", options.rate_rps);
    require_above_zero("ramp", "end_rate_rps", options.end_rate_rps);
    require_not_below_zero("ramp", "ramp_s", options.ramp_s);
  }
  [[nodiscard]] ArrivalSchedule schedule(int64_t items) const override {
    RampClock clock{
        .from_rps = options_.rate_rps, .to_rps = options_.end_rate_rps, .ramp_s = options_.ramp_s};
    if (clock.ramp_s == 0)
      clock.ramp_s =
          2 * static_cast<double>(std::max<int64_t>(items, 1)) / (clock.from_rps + clock.to_rps);
    return summed(items, options_.seed, exponential_gap,
                  [&](double gaps) { return clock.time_s(gaps); });
  }
};

class Burst final : public WithOptions {
 public:
  static ArrivalInfo info() {
    return {"burst", "as poisson, at one rate within bursts and at another between them"};
  }
  explicit Burst(const ArrivalOptions& options) : WithOptions(options) {
    require_above_zero("burst", "burst_rate_rps", options.burst_rate_rps);
    require_not_below_zero("burst", "rate_rps", options.rate_rps);
    require_above_zero("burst", "burst_s", options.burst_s);
    require_above_zero("burst", "between_s", options.between_s);
  }
  [[nodiscard]] ArrivalSchedule schedule(int64_t items) const override {
    const BurstClock clock{.burst_rps = options_.burst_rate_rps,
                           .between_rps = options_.rate_rps,
                           .burst_s = options_.burst_s,
                           .between_s = options_.between_s};
    return summed(items, options_.seed, exponential_gap,
                  [&](double gaps) { return clock.time_s(gaps); });
  }
};

class Trace final : public WithOptions {
 public:
  static ArrivalInfo info() {
    return {"trace", "when the source's requests were recorded, at their rate or at another"};
  }
  explicit Trace(const ArrivalOptions& options) : WithOptions(options) {
    const std::vector<double>& times = options_.recorded_s;
    if (times.empty())
      raise(
          "arrivals \"trace\": this workload was recorded without times; set other arrivals, or "
          "take a workload that has them (\"azure\", \"mooncake\", \"servegen\")");
    REPRISE_CHECK(std::is_sorted(times.begin(), times.end()) && times.front() >= 0 &&
                      std::isfinite(times.back()),
                  "recorded times do not ascend");
    require_not_below_zero("trace", "rate_rps", options.recorded_rate_rps);
    if (options.recorded_rate_rps > 0) stretch_ = stretch();
  }
  [[nodiscard]] ArrivalSchedule schedule(int64_t items) const override {
    REPRISE_CHECK(items >= 0, "items {}", items);
    if (items > std::ssize(options_.recorded_s))
      raise(
          "arrivals \"trace\": {} requests are asked for, but times of {} were recorded; "
          "set fewer",
          items, options_.recorded_s.size());
    ArrivalSchedule schedule;
    schedule.intended_s.assign(options_.recorded_s.begin(), options_.recorded_s.begin() + items);
    for (double& time_s : schedule.intended_s) time_s *= stretch_;
    return schedule;
  }

 private:
  // The factor by which recorded times are multiplied. A recording's mean rate is one over its mean
  // gap, so the time before the first request does not count.
  [[nodiscard]] double stretch() const {
    const std::vector<double>& times = options_.recorded_s;
    const double span_s = times.back() - times.front();
    if (span_s <= 0)
      raise(
          "arrivals \"trace\": all requests were recorded at the same moment, so their times "
          "cannot "
          "be stretched to a rate of {} per second; set rate_rps to 0, which keeps them",
          options_.recorded_rate_rps);
    return static_cast<double>(times.size() - 1) / span_s / options_.recorded_rate_rps;
  }

  double stretch_ = 1;
};

struct ArrivalsEntry {
  ArrivalInfo (*info)();
  std::unique_ptr<Arrivals> (*make)(const ArrivalOptions& options);
};

template <typename T>
constexpr ArrivalsEntry arrivals() {
  return {.info = &T::info, .make = [](const ArrivalOptions& options) -> std::unique_ptr<Arrivals> {
            return std::make_unique<T>(options);
          }};
}

// The list of all arrival processes.
constexpr ArrivalsEntry kArrivals[] = {
    arrivals<Poisson>(),  arrivals<Gamma>(), arrivals<Constant>(), arrivals<Closed>(),
    arrivals<Sessions>(), arrivals<Ramp>(),  arrivals<Burst>(),    arrivals<Trace>()};

}  // namespace

std::vector<ArrivalInfo> known_arrivals() {
  std::vector<ArrivalInfo> infos;
  for (const ArrivalsEntry& entry : kArrivals) infos.push_back(entry.info());
  return infos;
}

std::unique_ptr<Arrivals> make_arrivals(const std::string& name, const ArrivalOptions& options) {
  std::vector<std::string> names;
  for (const ArrivalsEntry& entry : kArrivals) {
    names.push_back(entry.info().name);
    if (names.back() == name) return entry.make(options);
  }
  raise("{}", unknown_name("arrivals", name, names));
}

}  // namespace reprise::workloads
