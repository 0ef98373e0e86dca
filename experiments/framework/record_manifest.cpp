#include "experiments/framework/record_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "experiments/framework/sweep.h"

namespace reprise::experiments {
namespace {

const Json& requested_of(const Json& record) { return record["settings"]["requested"]; }

// Returns the distinct values in order of occurrence.
std::vector<Json> values_of(const std::vector<Json>& records, const std::string& setting) {
  std::vector<Json> values;
  for (const Json& record : records)
    if (const Json value = requested_of(record).value(setting, Json());
        !value.is_null() && std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(value);
  return values;
}

// Returns the axis with the most values, preferring numbers to words.
const Axis& swept_axis(const Experiment& experiment) {
  size_t best = 0;
  const auto rank = [&](size_t a) {
    const size_t values = experiment.axis_values[a].size();
    return std::pair{values > 1, 2 * values + (experiment.kind.axes[a].takes_numbers() ? 1 : 0)};
  };
  for (size_t a = 1; a < experiment.axis_values.size(); ++a)
    if (rank(a) > rank(best)) best = a;
  return experiment.kind.axes[best];
}

PlotSpec default_plot(const Experiment& experiment, const std::vector<Json>& records) {
  for (const std::string& metric : experiment.kind.metric_names())
    for (const Json& record : records)
      if (record["metrics"].contains(metric))
        return {.family = "lines",
                .x = swept_axis(experiment).name,
                .y = metric,
                .series = "method",
                .name = metric,
                .title = experiment.title};
  raise("no record has a metric of kind {}: {}", experiment.kind.name,
        fmt::join(experiment.kind.metric_names(), ", "));
}

void read_axes(Experiment& experiment, const std::vector<Json>& records,
               const std::string& source) {
  experiment.axis_values.clear();
  for (const Axis& axis : experiment.kind.axes) {
    std::vector<AxisValue> values;
    for (const Json& value : values_of(records, axis.name))
      values.push_back(axis.read(
          value, fmt::format("{}: \"settings.requested.{}\" of a record", source, axis.name)));
    if (values.empty()) values.push_back(axis.fallback);
    experiment.axis_values.push_back(std::move(values));
  }
}

DType dtype_named(const std::string& name, const std::string& source) {
  try {
    return parse_dtype(name);
  } catch (const Error& error) {
    raise("{}: \"settings.requested.dtype\" of a record: {}", source, error.what());
  }
}

std::optional<WeightFormat> weight_format_named(const std::string& name,
                                                const std::string& source) {
  if (name == kPlainWeights) return std::nullopt;
  try {
    return parse_weight_format(name);
  } catch (const Error& error) {
    raise("{}: \"settings.requested.weight_format\" of a record: {}", source, error.what());
  }
}

void read_points(Experiment& experiment, const std::vector<Json>& records,
                 const std::string& source) {
  experiment.models.clear();
  experiment.dtypes.clear();
  experiment.methods.clear();
  std::set<std::string> seen;
  for (const Json& record : records) {
    const Json& requested = requested_of(record);
    const std::string format = requested.value("weight_format", kPlainWeights);
    const ModelChoice model{.model = requested.value("model", ""),
                            .random_weights = requested.value("weights", "") == "random",
                            .weight_format = weight_format_named(format, source)};
    if (seen.insert(fmt::format("model {} {} {}", model.model, model.random_weights, format))
            .second)
      experiment.models.push_back(model);
    if (const std::string dtype = requested.value("dtype", "f32");
        seen.insert("dtype " + dtype).second)
      experiment.dtypes.push_back(dtype_named(dtype, source));
    const MethodChoice method{.name = requested["method"],
                              .options = requested.value("method_options", Json::object())};
    if (seen.insert("method " + label_of(method)).second) experiment.methods.push_back(method);
  }
}

}  // namespace

Json manifest_of_records(const std::vector<Json>& records, const std::string& source,
                         const std::optional<Experiment>& shipped, const Vocabulary& vocabulary) {
  const Json& named = records.front()["experiment"];
  const std::string name = named.value("name", "");
  for (const Json& record : records)
    if (record["experiment"].value("name", "") != name ||
        record["experiment"].value("kind", "") != named.value("kind", ""))
      raise("{} holds records of several experiments ({} and {}); give a file of one of them",
            source, name, record["experiment"].value("name", ""));
  Experiment experiment;
  if (shipped) {
    experiment = *shipped;
  } else {
    experiment.name = experiment.title = name;
    experiment.paper = named.value("paper", "");
    experiment.figure = named.value("figure", "");
  }
  experiment.scale = named.value("scale", "");
  const std::string kind = named.value("kind", "");
  const auto known = std::find_if(vocabulary.kinds.begin(), vocabulary.kinds.end(),
                                  [&](const KindInfo& info) { return info.name == kind; });
  if (known == vocabulary.kinds.end())
    raise("{}: \"experiment.kind\" of a record: {}", source,
          unknown_name("kind", kind, names_of(vocabulary.kinds)));
  experiment.kind = *known;
  read_axes(experiment, records, source);
  read_points(experiment, records, source);
  if (experiment.metrics.empty()) experiment.metrics = experiment.kind.metric_names();
  if (experiment.plots.empty()) experiment.plots.push_back(default_plot(experiment, records));
  Json made = manifest(experiment, {}, {});
  made["points"] = records.size();
  return made;
}

}  // namespace reprise::experiments
