#include "experiments/serving/width_stop.h"

#include <algorithm>
#include <numbers>

#include "core/base/error.h"
#include "experiments/serving/latency.h"
#include "results/quantile_interval.h"
#include "results/statistics.h"

namespace reprise::experiments::serving {
namespace {

constexpr double kDoubt = 0.05;  // largest chance that any look's interval misses the percentile
constexpr double kMoreRequests = 1.25;

double confidence_of_look(int64_t number) {
  const double k = std::numbers::pi * static_cast<double>(number);
  return 1 - kDoubt * 6 / (k * k);
}

// Returns the latency called `name`; nullopt if the request has none.
std::optional<double> latency_s(const RequestEntry& entry, const std::string& name) {
  if (entry.outcome != Outcome::kServed) return std::nullopt;
  const Latency latency = latency_of(entry);
  if (name == "ttft") return latency.ttft_s;
  if (name == "e2e") return latency.e2e_s;
  REPRISE_CHECK(name == "tpot", "latency \"{}\"", name);
  return entry.generated() > 1 ? std::optional(latency.tpot_s) : std::nullopt;
}

}  // namespace

bool WidthStop::observe(const RequestEntry& entry, double now_s) {
  if (!rule_.is_set()) return false;
  if (is_narrow(looks_)) return true;
  ++ended_;
  if (const std::optional<double> found = latency_s(entry, rule_.latency))
    latencies_s_.push_back(*found);
  const bool may_look = now_s >= rule_.least_duration_s && ended_ >= rule_.least_requests;
  if (!may_look || std::ssize(latencies_s_) < next_look_) return false;
  looks_.push_back(look());
  next_look_ = static_cast<int64_t>(kMoreRequests * static_cast<double>(latencies_s_.size()));
  return is_narrow(looks_);
}

WidthStop::Look WidthStop::look() {
  std::vector<double> sorted = latencies_s_;
  std::sort(sorted.begin(), sorted.end());
  Look look{.requests = std::ssize(sorted),
            .confidence = confidence_of_look(std::ssize(looks_) + 1),
            .value_s = results::quantile(sorted, rule_.share)};
  look.interval_s = results::quantile_interval(sorted, rule_.share, look.confidence);
  look.is_narrow =
      look.interval_s && look.interval_s->high - look.interval_s->low <= rule_.width * look.value_s;
  return look;
}

bool is_narrow(const std::vector<WidthStop::Look>& looks) {
  return !looks.empty() && looks.back().is_narrow;
}

Fields fields_of(const WidthRule& rule, const std::vector<WidthStop::Look>& looks) {
  Fields fields = {{"latency", rule.latency},
                   {"share", rule.share},
                   {"width", rule.width},
                   {"looks", std::ssize(looks)},
                   {"stopped", is_narrow(looks)}};
  if (looks.empty()) return fields;
  const WidthStop::Look& last = looks.back();
  fields["requests"] = last.requests;
  fields["confidence"] = last.confidence;
  fields["value_s"] = last.value_s;
  if (last.interval_s) {
    fields["low_s"] = last.interval_s->low;
    fields["high_s"] = last.interval_s->high;
  }
  return fields;
}

}  // namespace reprise::experiments::serving
