#include "workloads/arrivals.h"

#include <cmath>
#include <numbers>

#include "core/base/error.h"
#include "core/base/random.h"

namespace reprise::workloads {
namespace {

// Uniform numbers of one request, none of them 0: their logarithm is finite.
class Draws {
 public:
  Draws(uint64_t seed, int64_t item) : seed_(seed), item_(static_cast<uint64_t>(item)) {}
  double next() { return random_unit(seed_, item_, count_++) + 0x1p-54; }

 private:
  uint64_t seed_, item_;
  uint64_t count_ = 0;
};

double exponential(Draws& draws) { return -std::log(draws.next()); }

// By Box and Muller's transform.
double normal(Draws& draws) {
  const double radius = std::sqrt(2 * exponential(draws));
  return radius * std::cos(2 * std::numbers::pi * draws.next());
}

// A gamma variable of mean `shape` and variance `shape`. [Marsaglia and Tsang 2000; a shape below 1
// is one above, times a power of a uniform number]
double gamma(double shape, Draws& draws) {
  if (shape < 1) {
    const double boost = std::pow(draws.next(), 1 / shape);
    return gamma(shape + 1, draws) * boost;
  }
  const double d = shape - 1.0 / 3;
  for (;;) {
    const double x = normal(draws);
    const double root = 1 + x / std::sqrt(9 * d);
    const double u = draws.next();
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(u) < x * x / 2 + d * (1 - v + std::log(v))) return d * v;
  }
}

void require_above_zero(const char* process, const char* option, double value) {
  if (!(std::isfinite(value) && value > 0))
    raise("arrivals \"{}\": {} is {}, it must be a finite number above 0", process, option, value);
}

// Times whose gaps are drawn one by one, in units of the mean gap.
template <typename Gap>
ArrivalSchedule summed(int64_t items, const ArrivalOptions& options, Gap&& gap) {
  REPRISE_CHECK(items >= 0, "items {}", items);
  ArrivalSchedule schedule;
  double gaps = 0;
  for (int64_t item = 0; item < items; ++item) {
    Draws draws(options.seed, item);
    gaps += gap(draws);
    schedule.intended_s.push_back(gaps / options.rate_rps);
  }
  return schedule;
}

// What every process keeps.
class WithOptions : public Arrivals {
 public:
  explicit WithOptions(const ArrivalOptions& options) : options_(options) {}

 protected:
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
    return summed(items, options_, exponential);
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
    return summed(items, options_, [shape](Draws& draws) { return gamma(shape, draws) / shape; });
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
    return summed(items, options_, [](Draws&) { return 1.0; });
  }
};

class Closed final : public WithOptions {
 public:
  static ArrivalInfo info() {
    return {"closed", "so many users, each of whom waits for an answer before asking again"};
  }
  explicit Closed(const ArrivalOptions& options) : WithOptions(options) {
    if (options.most_in_flight < 1)
      raise("arrivals \"closed\": most_in_flight is {}, it must be at least 1",
            options.most_in_flight);
  }
  [[nodiscard]] ArrivalSchedule schedule(int64_t items) const override {
    REPRISE_CHECK(items >= 0, "items {}", items);
    return {.intended_s = std::vector<double>(static_cast<size_t>(items), 0.0),
            .most_in_flight = options_.most_in_flight};
  }
};

struct Entry {
  ArrivalInfo (*info)();
  std::unique_ptr<Arrivals> (*make)(const ArrivalOptions& options);
};

template <typename T>
constexpr Entry arrivals() {
  return {.info = &T::info, .make = [](const ArrivalOptions& options) -> std::unique_ptr<Arrivals> {
            return std::make_unique<T>(options);
          }};
}

// The single list of arrival processes.
constexpr Entry kArrivals[] = {arrivals<Poisson>(), arrivals<Gamma>(), arrivals<Constant>(),
                               arrivals<Closed>()};

}  // namespace

std::vector<ArrivalInfo> known_arrivals() {
  std::vector<ArrivalInfo> infos;
  for (const Entry& entry : kArrivals) infos.push_back(entry.info());
  return infos;
}

std::unique_ptr<Arrivals> make_arrivals(const std::string& name, const ArrivalOptions& options) {
  std::vector<std::string> names;
  for (const Entry& entry : kArrivals) {
    names.push_back(entry.info().name);
    if (names.back() == name) return entry.make(options);
  }
  raise("{}", unknown_name("arrivals", name, names));
}

}  // namespace reprise::workloads
