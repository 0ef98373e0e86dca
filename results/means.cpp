#include "results/means.h"

#include <algorithm>
#include <map>

#include "core/base/json.h"
#include "results/run_validity.h"

namespace reprise::results {
namespace {

// The settings without the axis, as a text that distinguishes rows.
std::string others_of(const Record& record, const std::string& axis) {
  Fields settings = record.settings.requested;
  settings.erase(axis);
  return json_text(settings);
}

// True for the names of metrics that are ends of intervals. They get no mean, because the mean of
// interval ends is not an end of the mean's interval.
bool is_interval_end(const std::string& name) {
  return name.ends_with("_low") || name.ends_with("_high");
}

// Computes gamma [AttnCache eq. 6] from the means; the mean of the gammas would be another number.
void set_degradation(Metrics& means) {
  means.erase("speedup_degradation");
  const Metric* loss = find_metric(means, "score_loss");
  const Metric* speedup = find_metric(means, "text_speedup");
  if (loss != nullptr && speedup != nullptr && speedup->value > 1)
    means["speedup_degradation"] = {.value = loss->value / (speedup->value - 1), .unit = "ratio"};
}

Record mean_of(const std::vector<const Record*>& records, const ResultsFolder& folder) {
  const std::string& axis = folder.run.mean_over;
  Record mean = *records.front();
  mean.point += fmt::format("-{}", kMeanSetting);
  mean.settings.requested[axis] = mean.settings.resolved[axis] = kMeanSetting;
  mean.samples.clear();
  mean.answers.clear();
  mean.remarks.clear();
  mean.metrics.clear();
  for (const auto& [name, metric] : records.front()->metrics) {
    if (is_interval_end(name)) continue;
    double sum = 0;
    const bool all_have_it =
        std::all_of(records.begin(), records.end(), [&, &of = name](const Record* record) {
          const Metric* found = find_metric(record->metrics, of);
          if (found == nullptr || !is_valid_metric(*record, of, folder.records)) return false;
          sum += found->value;
          return true;
        });
    if (all_have_it)
      mean.metrics[name] = {.value = sum / static_cast<double>(records.size()),
                            .unit = metric.unit};
  }
  set_degradation(mean.metrics);
  return mean;
}

}  // namespace

std::vector<Record> means_of(const ResultsFolder& folder) {
  const std::string& axis = folder.run.mean_over;
  const auto values = folder.run.settings.axes.find(axis);
  if (axis.empty() || values == folder.run.settings.axes.end() || values->second.size() < 2)
    return {};
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Record*>> alike;
  for (const Record& record : folder.records) {
    const std::string others = others_of(record, axis);
    if (!alike.contains(others)) order.push_back(others);
    alike[others].push_back(&record);
  }
  std::vector<Record> means;
  for (const std::string& others : order)
    if (alike[others].size() == values->second.size() &&
        std::all_of(alike[others].begin(), alike[others].end(),
                    [](const Record* record) { return run_validity(*record).is_valid; }))
      means.push_back(mean_of(alike[others], folder));
  return means;
}

}  // namespace reprise::results
