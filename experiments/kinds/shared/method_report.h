// What methods report, as metrics of a measurement.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/framework/kind.h"
#include "methods/method.h"

namespace reprise::experiments {

// Takes a method's report into a measurement.
class MeasurementSink final : public methods::ReportSink {
 public:
  explicit MeasurementSink(Measurement& out) : out_(out) {}
  void metric(const MetricInfo& metric, double value) override { out_.set(metric, value); }
  void setting(const std::string& name, const Json& value) override { out_.resolved[name] = value; }

 private:
  Measurement& out_;
};

// The parts of the turns of one method, one sample for each turn.
class TurnPartSamples {
 public:
  // Adds a turn's parts, each times `factor`.
  void add(const methods::TurnCounts& counts, double factor = 1);
  // Sets one metric for each part.
  void add_to(Measurement& out) const;
  // Milliseconds of all parts of each turn that had some.
  [[nodiscard]] const std::vector<double>& sums_ms() const { return sums_ms_; }

 private:
  std::map<std::string, std::pair<const MetricInfo*, std::vector<double>>> samples_;  // by name
  std::vector<double> sums_ms_;
};

// Metrics that methods report where they are used so, and the parts of their turns for kinds that
// take turns; each once.
[[nodiscard]] std::vector<MetricInfo> method_metrics_of(MethodUse use);
[[nodiscard]] std::vector<MetricInfo> turn_parts_of(MethodUse use);

}  // namespace reprise::experiments
