#include "experiments/framework/record_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "experiments/framework/experiment_entries.h"
#include "experiments/framework/sweep.h"

namespace reprise::experiments {
namespace {

using results::Record;

// Returns the distinct values of a setting in the order in which the records have them.
Values values_of(const std::vector<Record>& records, const std::string& setting) {
  Values values;
  for (const Record& record : records)
    if (const Value& value = record.requested(setting);
        !value.is_null() && std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(value);
  return values;
}

// Returns the axis with the most values. Among axes with equally many, an axis of numbers is
// preferred to an axis of words.
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

results::Plot default_plot(const Experiment& experiment, const std::vector<Record>& records) {
  for (const std::string& metric : experiment.kind.metric_names())
    for (const Record& record : records)
      if (record.metrics.contains(metric))
        return {.family = "lines",
                .x = swept_axis(experiment).name,
                .y = metric,
                .series = "method",
                .name = metric,
                .title = experiment.title};
  raise("no record has a metric of kind {}: {}", experiment.kind.name,
        fmt::join(experiment.kind.metric_names(), ", "));
}

std::string where_requested(const std::string& source, const std::string& setting) {
  return fmt::format("{}: \"settings.requested.{}\" of a record", source, setting);
}

// Returns the record's value of an axis. A record that is older than the axis has its fallback.
AxisValue value_on_axis(const Record& record, const Axis& axis, const std::string& source) {
  const Value& value = record.requested(axis.name);
  return value.is_null() ? axis.fallback : axis.read(value, where_requested(source, axis.name));
}

void read_axes(Experiment& experiment, const std::vector<Record>& records,
               const std::string& source) {
  experiment.axis_values.clear();
  for (const Axis& axis : experiment.kind.axes) {
    std::vector<AxisValue> values;
    for (const Value& value : values_of(records, axis.name))
      values.push_back(axis.read(value, where_requested(source, axis.name)));
    if (values.empty()) values.push_back(axis.fallback);
    experiment.axis_values.push_back(std::move(values));
  }
}

void read_points(Experiment& experiment, const std::vector<Record>& records,
                 const std::string& source) {
  experiment.models.clear();
  experiment.dtypes.clear();
  experiment.methods.clear();
  std::set<std::string> seen;
  for (const Record& record : records) {
    const Fields& requested = record.settings.requested;
    const std::string format = text_of(requested, "weight_format", kPlainWeights);
    const ModelChoice model{
        .model = text_of(requested, "model"),
        .random_weights = text_of(requested, "weights") == "random",
        .weight_format = weight_format_named(format, where_requested(source, "weight_format"))};
    if (seen.insert(fmt::format("model {} {} {}", model.model, model.random_weights, format))
            .second)
      experiment.models.push_back(model);
    if (const std::string dtype = text_of(requested, "dtype", "f32");
        seen.insert("dtype " + dtype).second)
      experiment.dtypes.push_back(dtype_named(dtype, where_requested(source, "dtype")));
    const MethodChoice method = method_of(record);
    if (seen.insert("method " + label_of(method)).second) experiment.methods.push_back(method);
  }
}

// Sets the cases to the records' combinations of models, dtypes and axes with several values, since
// records do not tell which other combinations were planned.
void read_cases(Experiment& experiment, const std::vector<Record>& records,
                const std::string& source) {
  experiment.cases.clear();
  std::set<std::string> seen;
  for (const Record& record : records) {
    AxisValues one;
    const Fields& requested = record.settings.requested;
    if (experiment.models.size() > 1)
      one = {{kModelOfCase, text_of(requested, "model")},
             {"weights", text_of(requested, "weights") == "random" ? "random" : "checkpoint"},
             {"weight_format", text_of(requested, "weight_format", kPlainWeights)}};
    if (experiment.dtypes.size() > 1) one.emplace("dtype", text_of(requested, "dtype", "f32"));
    for (size_t a = 0; a < experiment.axis_values.size(); ++a) {
      const Axis& axis = experiment.kind.axes[a];
      if (experiment.axis_values[a].size() < 2) continue;
      one.emplace(axis.name, value_on_axis(record, axis, source));
    }
    std::string key;
    for (const auto& [name, value] : one) key += value.text() + "\n";
    if (seen.insert(key).second) experiment.cases.push_back(std::move(one));
  }
}

// True if the experiment has cases, and each record has the values of one of them. Other records
// were measured with --set.
bool has_cases_of(const std::vector<Record>& records, const Experiment& experiment,
                  const std::string& source) {
  if (experiment.cases[0].empty()) return false;
  const auto is_of = [&](const Record& record, const AxisValues& one_case) {
    return is_case_of(one_case, {.model = text_of(record.settings.requested, "model")}) &&
           std::all_of(experiment.kind.axes.begin(), experiment.kind.axes.end(),
                       [&](const Axis& axis) {
                         const auto fixed = one_case.find(axis.name);
                         return fixed == one_case.end() ||
                                fixed->second == value_on_axis(record, axis, source);
                       });
  };
  return std::all_of(records.begin(), records.end(), [&](const Record& record) {
    return std::any_of(experiment.cases.begin(), experiment.cases.end(),
                       [&](const AxisValues& one_case) { return is_of(record, one_case); });
  });
}

// Adds the methods that the records' runs left out, each once.
void read_left_out(Experiment& experiment, const std::vector<Record>& records) {
  std::set<std::string> seen;
  for (const Record& record : records)
    for (const results::LeftOut& left_out : record.experiment.left_out)
      if (seen.insert(left_out.method).second) experiment.left_out.push_back(left_out);
}

// True if the records have all values that the shipped experiment gives the axis.
bool has_all_values(const Experiment& experiment, const Experiment& shipped,
                    const std::string& name) {
  for (size_t a = 0; a < shipped.axis_values.size(); ++a) {
    if (shipped.kind.axes[a].name != name) continue;
    const std::vector<AxisValue>& found = experiment.axis_values[a];
    for (const AxisValue& value : shipped.axis_values[a])
      if (std::find(found.begin(), found.end(), value) == found.end()) return false;
  }
  return true;
}

}  // namespace

results::Manifest manifest_of_records(const std::vector<Record>& records, const std::string& source,
                                      const std::optional<Experiment>& shipped,
                                      const Vocabulary& vocabulary) {
  const results::Origin& named = records.front().experiment;
  for (const Record& record : records)
    if (record.experiment.name != named.name || record.experiment.kind != named.kind)
      raise("{} holds records of several experiments ({} and {}); give a file of one of them",
            source, named.name, record.experiment.name);
  Experiment experiment;
  if (shipped) {
    experiment = *shipped;
  } else {
    experiment.name = experiment.title = named.name;
    experiment.paper = named.paper;
    experiment.figure = named.figure;
  }
  experiment.scale = named.scale;
  const auto known = std::find_if(vocabulary.kinds.begin(), vocabulary.kinds.end(),
                                  [&](const KindInfo& info) { return info.name == named.kind; });
  if (known == vocabulary.kinds.end())
    raise("{}: \"experiment.kind\" of a record: {}", source,
          unknown_name("kind", named.kind, names_of(vocabulary.kinds)));
  experiment.kind = *known;
  read_axes(experiment, records, source);
  read_points(experiment, records, source);
  read_left_out(experiment, records);
  if (!has_cases_of(records, experiment, source)) read_cases(experiment, records, source);
  // A shard's file has a part of the values, whose mean would not be that of the experiment.
  if (shipped && !has_all_values(experiment, *shipped, shipped->mean_over))
    experiment.mean_over.clear();
  if (experiment.metrics.empty()) experiment.metrics = experiment.kind.metric_names();
  if (experiment.plots.empty()) experiment.plots.push_back(default_plot(experiment, records));
  results::Manifest made = manifest(experiment, {}, {});
  made.points = std::ssize(records);
  return made;
}

bool have_inputs_of(const Experiment& experiment, const std::vector<Record>& records) {
  return std::any_of(records.begin(), records.end(), [&](const Record& record) {
    const Value& workload = record.requested("workload");
    const Value& file = field_of(workload, "file");
    return field_of(workload, "name") == Value(experiment.workload.name) &&
           (file.is_text() ? file.text() : "") == experiment.workload.file &&
           std::any_of(experiment.models.begin(), experiment.models.end(),
                       [&](const ModelChoice& model) {
                         return record.requested("model") == Value(model.model);
                       });
  });
}

}  // namespace reprise::experiments
