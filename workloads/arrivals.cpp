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

// A schedule of constant rate. `gap` draws gaps with mean 1, in units of the mean gap.
template <typename Gap>
ArrivalSchedule steady(const ArrivalOptions& options, int64_t items, Gap&& gap) {
  return summed(items, options.seed, gap, [&](double gaps) { return gaps / options.rate_rps; });
}

ArrivalSchedule poisson_schedule(const ArrivalOptions& options, int64_t items) {
  require_above_zero("poisson", "rate_rps", options.rate_rps);
  return steady(options, items, exponential_gap);
}

ArrivalSchedule gamma_schedule(const ArrivalOptions& options, int64_t items) {
  require_above_zero("gamma", "rate_rps", options.rate_rps);
  require_above_zero("gamma", "cv", options.cv);
  const double shape = 1 / (options.cv * options.cv);
  return steady(options, items, [&](GapDraws& draws) { return gamma_gap(shape, draws); });
}

ArrivalSchedule constant_schedule(const ArrivalOptions& options, int64_t items) {
  require_above_zero("constant", "rate_rps", options.rate_rps);
  return steady(options, items, [](GapDraws&) { return 1.0; });
}

ArrivalSchedule closed_schedule(const ArrivalOptions& options, int64_t items) {
  require_in_flight("closed", options.most_in_flight);
  return {.intended_s = std::vector<double>(static_cast<size_t>(items), 0.0),
          .most_in_flight = options.most_in_flight};
}

ArrivalSchedule sessions_schedule(const ArrivalOptions& options, int64_t items) {
  require_in_flight("sessions", options.most_in_flight);
  require_not_below_zero("sessions", "pause_s", options.pause_s);
  require_not_below_zero("sessions", "most_pause_s", options.most_pause_s);
  if (options.waits_for.empty())
    raise(
        "arrivals \"sessions\": this workload has no conversations; set other arrivals, or take "
        "a workload that has them (\"conversations\", \"weka\", \"agentic_coding\")");
  const bool takes_recorded_pauses = options.most_pause_s > 0;
  if (takes_recorded_pauses && options.recorded_pauses_s.empty())
    raise(
        "arrivals \"sessions\": most_pause_s limits recorded pauses, but this workload has no "
        "recorded pauses; set pause_s, or take a workload that has them (\"weka\", "
        "\"agentic_coding\")");
  REPRISE_CHECK(items == std::ssize(options.waits_for), "{} requests, {} may wait for others",
                items, options.waits_for.size());
  ArrivalSchedule schedule{.intended_s = std::vector<double>(static_cast<size_t>(items), 0.0),
                           .most_in_flight = options.most_in_flight,
                           .waits_for = options.waits_for};
  for (int64_t item = 0; item < items; ++item) {
    GapDraws draws(options.seed, item);
    schedule.pause_s.push_back(
        takes_recorded_pauses
            ? std::min(options.recorded_pauses_s[static_cast<size_t>(item)], options.most_pause_s)
            : options.pause_s * exponential_gap(draws));
  }
  return schedule;
}

ArrivalSchedule ramp_schedule(const ArrivalOptions& options, int64_t items) {
  require_not_below_zero("ramp", "rate_rps", options.rate_rps);
  require_above_zero("ramp", "end_rate_rps", options.end_rate_rps);
  require_not_below_zero("ramp", "ramp_s", options.ramp_s);
  RampClock clock{
      .from_rps = options.rate_rps, .to_rps = options.end_rate_rps, .ramp_s = options.ramp_s};
  if (clock.ramp_s == 0)
    clock.ramp_s =
        2 * static_cast<double>(std::max<int64_t>(items, 1)) / (clock.from_rps + clock.to_rps);
  return summed(items, options.seed, exponential_gap,
                [&](double gaps) { return clock.time_s(gaps); });
}

ArrivalSchedule burst_schedule(const ArrivalOptions& options, int64_t items) {
  require_above_zero("burst", "burst_rate_rps", options.burst_rate_rps);
  require_not_below_zero("burst", "rate_rps", options.rate_rps);
  require_above_zero("burst", "burst_s", options.burst_s);
  require_above_zero("burst", "between_s", options.between_s);
  const BurstClock clock{.burst_rps = options.burst_rate_rps,
                         .between_rps = options.rate_rps,
                         .burst_s = options.burst_s,
                         .between_s = options.between_s};
  return summed(items, options.seed, exponential_gap,
                [&](double gaps) { return clock.time_s(gaps); });
}

// Returns the factor by which recorded times are multiplied. A recording's mean rate is one over
// its mean gap, so the time before the first request does not count.
double stretch_of(const ArrivalOptions& options) {
  if (options.recorded_rate_rps == 0) return 1;
  const std::vector<double>& times = options.recorded_s;
  const double span_s = times.back() - times.front();
  if (span_s <= 0)
    raise(
        "arrivals \"trace\": all requests were recorded at the same moment, so their times cannot "
        "be stretched to a rate of {} per second; set rate_rps to 0, which keeps them",
        options.recorded_rate_rps);
  return static_cast<double>(times.size() - 1) / span_s / options.recorded_rate_rps;
}

ArrivalSchedule trace_schedule(const ArrivalOptions& options, int64_t items) {
  const std::vector<double>& times = options.recorded_s;
  if (times.empty())
    raise(
        "arrivals \"trace\": this workload was recorded without times; set other arrivals, or "
        "take a workload that has them (\"azure\", \"mooncake\", \"servegen\")");
  REPRISE_CHECK(std::is_sorted(times.begin(), times.end()) && times.front() >= 0 &&
                    std::isfinite(times.back()),
                "recorded times do not ascend");
  require_not_below_zero("trace", "rate_rps", options.recorded_rate_rps);
  const double stretch = stretch_of(options);
  if (items > std::ssize(times))
    raise(
        "arrivals \"trace\": {} requests are asked for, but times of {} were recorded; "
        "set fewer",
        items, times.size());
  ArrivalSchedule schedule{.intended_s = {times.begin(), times.begin() + items}};
  for (double& time_s : schedule.intended_s) time_s *= stretch;
  return schedule;
}

// The list of all arrival processes.
constexpr struct {
  const char* name;
  const char* summary;
  ArrivalSchedule (*schedule)(const ArrivalOptions& options, int64_t items);
} kArrivals[] = {
    {"poisson", "gaps exponential: users who know nothing of one another", poisson_schedule},
    {"gamma", "gaps of any coefficient of variation: above 1 in bursts, below 1 evener",
     gamma_schedule},
    {"constant", "equal gaps; the first request after one of them", constant_schedule},
    {"closed", "so many users, each of whom waits for an answer before asking again",
     closed_schedule},
    {"sessions", "so many conversations at once; a turn waits for the answer before it",
     sessions_schedule},
    {"ramp", "as poisson, at a rate that goes in a line from one to another", ramp_schedule},
    {"burst", "as poisson, at one rate within bursts and at another between them", burst_schedule},
    {"trace", "when the source's requests were recorded, at their rate or at another",
     trace_schedule}};

}  // namespace

std::vector<ArrivalInfo> known_arrivals() {
  std::vector<ArrivalInfo> infos;
  for (const auto& [name, summary, schedule] : kArrivals) infos.push_back({name, summary});
  return infos;
}

ArrivalSchedule make_schedule(const std::string& name, const ArrivalOptions& options,
                              int64_t items) {
  REPRISE_CHECK(items >= 0, "items {}", items);
  std::vector<std::string> names;
  for (const auto& process : kArrivals) {
    if (process.name == name) return process.schedule(options, items);
    names.emplace_back(process.name);
  }
  raise("{}", unknown_name("arrivals", name, names));
}

}  // namespace reprise::workloads
