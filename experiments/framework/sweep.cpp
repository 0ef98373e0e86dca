#include "experiments/framework/sweep.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"
#include "results/hash.h"
#include "results/metric_name.h"

namespace reprise::experiments {
namespace {

Fields fields_of(const Workload& workload) {
  Fields fields = {{"name", workload.name}};
  if (!workload.file.empty()) fields["file"] = workload.file;
  if (!workload.templates.empty()) fields["templates"] = workload.templates;
  return fields;
}

// The seeds that enter the ids of points. The seeds of arrivals and order were added after the
// first records had been written. They are left out if they have their defaults, so that older ids
// stay valid.
std::map<std::string, int64_t> named_seeds(const Seeds& seeds) {
  const auto number = [](uint64_t seed) { return static_cast<int64_t>(seed); };
  std::map<std::string, int64_t> named = {{"prompts", number(seeds.prompts)},
                                          {"weights", number(seeds.weights)},
                                          {"sampling", number(seeds.sampling)}};
  if (seeds.arrivals != Seeds{}.arrivals) named["arrivals"] = number(seeds.arrivals);
  if (seeds.order != Seeds{}.order) named["order"] = number(seeds.order);
  return named;
}

const char* weights_name(const ModelChoice& model) {
  return model.random_weights ? "random" : "checkpoint";
}

std::string weight_format_name(const ModelChoice& model) {
  return model.weight_format ? std::string(name_of(*model.weight_format)) : kPlainWeights;
}

results::PlannedModel planned(const ModelChoice& model) {
  return {.model = model.model,
          .weights = weights_name(model),
          .weight_format = model.weight_format ? weight_format_name(model) : ""};
}

const char* device_name(const RunSettings& settings) {
  return settings.device == Device::kCpu ? "cpu" : "cuda";
}

// Settings of the group's points except the method.
Fields shared_settings(const Group& group, const RunSettings& settings) {
  Fields fields = {{"dtype", name_of(group.dtype)},
                   {"kv_dtype", name_of(group.kv_dtype)},
                   {"repetitions", group.repetitions},
                   {"warmup", group.warmup},
                   {"seeds", FieldWriter::written(named_seeds(group.seeds))},
                   {"threads", settings.context.threads},
                   {"isa", name_of(settings.context.isa)},
                   {"device", device_name(settings)}};
  if (!group.model.model.empty()) {
    fields["model"] = group.model.model;
    fields["weights"] = weights_name(group.model);
    fields["workload"] = fields_of(group.workload);
  }
  for (const auto& [name, value] : group.axes) fields[name] = value.value();
  return fields;
}

// Returns the group's model, its weights if the model has others too, its dtype, and its values of
// the axes that have several values.
std::string label_of(const Group& group, const Experiment& experiment) {
  std::string label = group.model.model + (group.model.model.empty() ? "" : " ");
  if (std::any_of(experiment.models.begin(), experiment.models.end(),
                  [&](const ModelChoice& other) {
                    return other.model == group.model.model &&
                           other.random_weights != group.model.random_weights;
                  }))
    label += fmt::format("{} ", weights_name(group.model));
  label += name_of(group.dtype);
  if (group.model.weight_format) label += " " + weight_format_name(group.model);
  for (size_t a = 0; a < experiment.kind.axes.size(); ++a)
    if (const std::string& name = experiment.kind.axes[a].name;
        experiment.axis_values[a].size() > 1)
      label += fmt::format(" {}={}", name, group.axes.at(name).text());
  return label;
}

void add_points(Group& group, const Experiment& experiment, const RunSettings& settings) {
  group.methods = experiment.methods;
  Fields requested = shared_settings(group, settings);
  // The weight format is left out if no model has one, so that older points keep their ids and
  // columns.
  if (std::any_of(experiment.models.begin(), experiment.models.end(),
                  [](const ModelChoice& model) { return model.weight_format.has_value(); }))
    requested["weight_format"] = weight_format_name(group.model);
  for (const MethodChoice& method : group.methods) {
    requested["method"] = method.name;
    requested["method_options"] = method.options;
    Fields named = requested;
    for (const Axis& axis : experiment.kind.axes)
      if (axis.came_later && group.axes.at(axis.name) == axis.fallback) named.erase(axis.name);
    if (!group.model.weight_format) named.erase("weight_format");
    named["kind"] = experiment.kind.name;
    group.point_ids.push_back(results::hash_of(named));
    group.requested.push_back(requested);
  }
  group.id = results::group_id(group.point_ids);
  group.label = label_of(group, experiment);
}

// For each axis of the kind its values: one value if the case sets the axis, otherwise all values.
std::vector<std::vector<AxisValue>> axis_values_in(const AxisValues& one_case,
                                                   const Experiment& experiment) {
  std::vector<std::vector<AxisValue>> values = experiment.axis_values;
  for (size_t a = 0; a < values.size(); ++a)
    if (const auto found = one_case.find(experiment.kind.axes[a].name); found != one_case.end())
      values[a] = {found->second};
  return values;
}

// Advances `at` to the next combination; the last axis changes fastest. Returns false after the
// last combination.
bool advance(std::vector<size_t>& at, const std::vector<std::vector<AxisValue>>& values) {
  for (size_t a = at.size(); a-- > 0;) {
    if (++at[a] < values[a].size()) return true;
    at[a] = 0;
  }
  return false;
}

// The kind's metrics on request that the table or a figure shows, in the kind's order.
std::vector<std::string> asked_for(const Experiment& experiment) {
  std::vector<std::string> shown = experiment.metrics;
  for (const results::Plot& plot : experiment.plots) {
    shown.insert(shown.end(), {plot.y, plot.reference});
    shown.insert(shown.end(), plot.stack.begin(), plot.stack.end());
  }
  for (std::string& name : shown) name = results::split_metric_name(name).metric;
  std::vector<std::string> asked;
  for (const MetricInfo& metric : experiment.kind.metrics)
    if (metric.is_on_request && std::find(shown.begin(), shown.end(), metric.name) != shown.end())
      asked.push_back(metric.name);
  return asked;
}

// Adds a group for every combination of axis values, with the model and dtype of `like`.
void add_groups(const Group& like, const std::vector<std::vector<AxisValue>>& axis_values,
                const Experiment& experiment, const RunSettings& settings,
                std::vector<Group>& groups) {
  std::vector<size_t> at(axis_values.size(), 0);
  do {
    Group group = like;
    group.kv_dtype = experiment.kv_dtype == "same" ? group.dtype : parse_dtype(experiment.kv_dtype);
    group.workload = experiment.workload;
    group.repetitions = experiment.repetitions;
    group.warmup = experiment.warmup;
    group.seeds = experiment.seeds;
    group.asked_for = asked_for(experiment);
    for (size_t a = 0; a < at.size(); ++a)
      group.axes[experiment.kind.axes[a].name] = axis_values[a][at[a]];
    add_points(group, experiment, settings);
    groups.push_back(std::move(group));
  } while (advance(at, axis_values));
}

void check_size(const Experiment& experiment) {
  int64_t cases = 0;  // of all models
  for (const ModelChoice& model : experiment.models)
    cases += std::count_if(experiment.cases.begin(), experiment.cases.end(),
                           [&](const AxisValues& one) { return is_case_of(one, model); });
  double points = static_cast<double>(cases) *
                  static_cast<double>(experiment.dtypes.size() * experiment.methods.size());
  for (const auto& values : axis_values_in(experiment.cases[0], experiment))
    points *= static_cast<double>(values.size());
  if (points > static_cast<double>(kMostPoints))
    raise(
        "experiment {} has {:.0f} points, at most {} are allowed; shorten \"cases\" or a list of "
        "\"sweep\"",
        experiment.name, points, kMostPoints);
}

results::PlannedSettings planned_settings(const Experiment& experiment,
                                          const RunSettings& settings) {
  results::PlannedSettings planned{.name = experiment.name,
                                   .kind = experiment.kind.name,
                                   .scale = experiment.scale,
                                   .kv_dtype = experiment.kv_dtype,
                                   .workload = fields_of(experiment.workload)};
  for (const ModelChoice& model : experiment.models)
    if (!model.model.empty()) planned.models.push_back(experiments::planned(model));
  for (const DType dtype : experiment.dtypes) planned.dtypes.emplace_back(name_of(dtype));
  for (const MethodChoice& method : experiment.methods)
    planned.methods.push_back({.name = method.name, .options = method.options});
  for (size_t a = 0; a < experiment.axis_values.size(); ++a)
    for (const AxisValue& value : experiment.axis_values[a])
      planned.axes[experiment.kind.axes[a].name].push_back(value.value());
  for (const AxisValues& one_case : experiment.cases) {
    Fields fields;
    for (const auto& [name, value] : one_case) fields[name] = value.value();
    if (!fields.empty()) planned.cases.push_back(std::move(fields));
  }
  planned.repetitions = experiment.repetitions;
  planned.warmup = experiment.warmup;
  planned.seeds = named_seeds(experiment.seeds);
  planned.interleave = experiment.interleaves_points ? "points" : "methods";
  planned.threads = settings.context.threads;
  planned.isa = name_of(settings.context.isa);
  planned.device = device_name(settings);
  // Part of the manifest, so that a folder whose points lack a requested metric is not continued.
  planned.asked_for = asked_for(experiment);
  return planned;
}

}  // namespace

std::vector<Group> expand(const Experiment& experiment, const RunSettings& settings) {
  check_size(experiment);
  std::vector<Group> groups;
  for (const ModelChoice& model : experiment.models)
    for (const DType dtype : experiment.dtypes)
      for (const AxisValues& one_case : experiment.cases)
        if (is_case_of(one_case, model))
          add_groups({.model = model, .dtype = dtype}, axis_values_in(one_case, experiment),
                     experiment, settings, groups);
  return groups;
}

results::Manifest manifest(const Experiment& experiment, const RunSettings& settings,
                           const std::vector<Group>& groups) {
  results::Manifest made{.settings = planned_settings(experiment, settings),
                         .caption = {.title = experiment.title,
                                     .paper = experiment.paper,
                                     .figure = experiment.figure,
                                     .note = experiment.note},
                         .metrics = experiment.metrics,
                         .left_out = experiment.left_out,
                         .labels = std::vector<std::string>(),
                         .paper_numbers = experiment.paper_numbers,
                         .plots = experiment.plots,
                         .mean_over = experiment.mean_over};
  for (const MethodChoice& method : experiment.methods) made.labels->push_back(method.label);
  made.config_hash = results::hash_of(written_fields(made.settings));
  for (const Group& group : groups) made.points += std::ssize(group.point_ids);
  for (size_t a = 0; a < experiment.axis_values.size(); ++a)
    made.axis_units[experiment.kind.axes[a].name] = experiment.kind.axes[a].unit;
  return made;
}

Plan plan(const Experiment& experiment, const RunSettings& settings) {
  Plan made{.groups = expand(experiment, settings), .manifest = {}};
  made.manifest = manifest(experiment, settings, made.groups);
  return made;
}

}  // namespace reprise::experiments
