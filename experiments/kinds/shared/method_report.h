// Writes the reports of methods into measurements, and their metrics into lists.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/framework/kind.h"
#include "methods/method.h"

namespace reprise::experiments {

// Writes a method's report into a measurement.
class MeasurementSink final : public methods::ReportSink {
 public:
  explicit MeasurementSink(Measurement& out) : out_(out) {}
  void metric(const MetricInfo& metric, double value) override { out_.set(metric, value); }
  void setting(const std::string& name, const Value& value) override {
    out_.resolved[name] = value;
  }

 private:
  Measurement& out_;
};

// Times of the parts into which a method's turns are divided, one sample of each part per turn.
class TurnPartSamples {
 public:
  // Adds a turn's parts, each multiplied by `factor`.
  void add(const methods::TurnCounts& counts, double factor = 1);
  // Sets one metric for each part.
  void add_to(Measurement& out) const;
  // Sum of all parts of a turn in milliseconds, for each turn that reported parts.
  [[nodiscard]] const std::vector<double>& sums_ms() const { return sums_ms_; }

 private:
  std::map<std::string, std::pair<const MetricInfo*, std::vector<double>>> samples_;  // by name
  std::vector<double> sums_ms_;
};

// Appends to `metrics` the metrics that methods may report in a kind with this use. If
// `takes_turns`, also appends the metrics for the parts of a turn's time. Each name is added once.
void add_method_metrics(MethodUse use, bool takes_turns, std::vector<MetricInfo>& metrics);

}  // namespace reprise::experiments
