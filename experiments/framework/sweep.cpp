#include "experiments/framework/sweep.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "results/hash.h"
#include "results/metric_name.h"

namespace reprise::experiments {
namespace {

std::string hash_of(const Json& json) {
  return results::hash_text(results::hash_bytes(json.dump()));
}

Json json_of(const Workload& workload) {
  Json json = {{"name", workload.name}};
  if (!workload.file.empty()) json["file"] = workload.file;
  if (!workload.templates.empty()) json["templates"] = workload.templates;
  return json;
}

// The seeds by which points are named. Seeds of arrivals and order are newer than the first
// records: at their defaults they are left out, so that ids stay the same.
Json json_of(const Seeds& seeds) {
  Json json = {
      {"prompts", seeds.prompts}, {"weights", seeds.weights}, {"sampling", seeds.sampling}};
  if (seeds.arrivals != Seeds{}.arrivals) json["arrivals"] = seeds.arrivals;
  if (seeds.order != Seeds{}.order) json["order"] = seeds.order;
  return json;
}

const char* weights_name(const ModelChoice& model) {
  return model.random_weights ? "random" : "checkpoint";
}

std::string weight_format_name(const ModelChoice& model) {
  return model.weight_format ? std::string(name_of(*model.weight_format)) : kPlainWeights;
}

Json json_of(const ModelChoice& model) {
  Json json = {{"model", model.model}, {"weights", weights_name(model)}};
  if (model.weight_format) json["weight_format"] = weight_format_name(model);
  return json;
}

// Settings of the group's points except the method.
Json shared_settings(const Group& group, const RunSettings& settings) {
  Json json = {{"dtype", name_of(group.dtype)},
               {"kv_dtype", name_of(group.kv_dtype)},
               {"repetitions", group.repetitions},
               {"warmup", group.warmup},
               {"seeds", json_of(group.seeds)},
               {"threads", settings.context.threads},
               {"isa", name_of(settings.context.isa)},
               {"device", settings.device == Device::kCpu ? "cpu" : "cuda"}};
  if (!group.model.model.empty()) {
    json["model"] = group.model.model;
    json["weights"] = weights_name(group.model);
    json["workload"] = json_of(group.workload);
  }
  for (const auto& [name, value] : group.axes) json[name] = value.json();
  return json;
}

// The model, and every axis with several values.
std::string label_of(const Group& group, const Experiment& experiment) {
  std::string label = group.model.model + (group.model.model.empty() ? "" : " ");
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
  Json requested = shared_settings(group, settings);
  // If no model has a weight format, it is left out: older points keep their ids and columns.
  if (std::any_of(experiment.models.begin(), experiment.models.end(),
                  [](const ModelChoice& model) { return model.weight_format.has_value(); }))
    requested["weight_format"] = weight_format_name(group.model);
  for (const MethodChoice& method : group.methods) {
    requested["method"] = method.name;
    requested["method_options"] = method.options;
    Json named = requested;
    for (const Axis& axis : experiment.kind.axes)
      if (axis.came_later && group.axes.at(axis.name) == axis.fallback) named.erase(axis.name);
    if (!group.model.weight_format) named.erase("weight_format");
    named["kind"] = experiment.kind.name;
    group.point_ids.push_back(hash_of(named));
    group.requested.push_back(requested);
  }
  group.id = hash_of(group.point_ids);
  group.label = label_of(group, experiment);
}

// Advances `at` to the next combination, the last axis fastest; false after the last.
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
  for (const PlotSpec& plot : experiment.plots) {
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

void check_size(const Experiment& experiment) {
  double points = static_cast<double>(experiment.models.size() * experiment.dtypes.size() *
                                      experiment.methods.size());
  for (const auto& values : experiment.axis_values) points *= static_cast<double>(values.size());
  if (points > static_cast<double>(kMostPoints))
    raise("experiment {} has {:.0f} points, at most {} are allowed; shorten a list of \"sweep\"",
          experiment.name, points, kMostPoints);
}

}  // namespace

std::vector<Group> expand(const Experiment& experiment, const RunSettings& settings) {
  check_size(experiment);
  std::vector<Group> groups;
  for (const ModelChoice& model : experiment.models) {
    for (const DType dtype : experiment.dtypes) {
      std::vector<size_t> at(experiment.axis_values.size(), 0);
      do {
        Group group{
            .model = model,
            .dtype = dtype,
            .kv_dtype = experiment.kv_dtype == "same" ? dtype : parse_dtype(experiment.kv_dtype),
            .workload = experiment.workload,
            .axes = {},
            .repetitions = experiment.repetitions,
            .warmup = experiment.warmup,
            .seeds = experiment.seeds,
            .id = "",
            .label = "",
            .methods = {},
            .asked_for = asked_for(experiment),
            .point_ids = {},
            .requested = {}};
        for (size_t a = 0; a < at.size(); ++a)
          group.axes[experiment.kind.axes[a].name] = experiment.axis_values[a][at[a]];
        add_points(group, experiment, settings);
        groups.push_back(std::move(group));
      } while (advance(at, experiment.axis_values));
    }
  }
  return groups;
}

Json manifest(const Experiment& experiment, const RunSettings& settings,
              const std::vector<Group>& groups) {
  Json axes = Json::object();
  Json units = Json::object();
  for (size_t a = 0; a < experiment.axis_values.size(); ++a) {
    Json& values = axes[experiment.kind.axes[a].name] = Json::array();
    for (const AxisValue& value : experiment.axis_values[a]) values.push_back(value.json());
    units[experiment.kind.axes[a].name] = experiment.kind.axes[a].unit;
  }
  Json models = Json::array(), dtypes = Json::array(), methods = Json::array();
  for (const ModelChoice& model : experiment.models)
    if (!model.model.empty()) models.push_back(json_of(model));
  for (const DType dtype : experiment.dtypes) dtypes.push_back(name_of(dtype));
  for (const MethodChoice& method : experiment.methods)
    methods.push_back({{"name", method.name}, {"options", method.options}});
  Json wanted = {{"name", experiment.name},
                 {"kind", experiment.kind.name},
                 {"scale", experiment.scale},
                 {"models", models},
                 {"dtypes", dtypes},
                 {"kv_dtype", experiment.kv_dtype},
                 {"methods", methods},
                 {"workload", json_of(experiment.workload)},
                 {"axes", axes},
                 {"repetitions", experiment.repetitions},
                 {"warmup", experiment.warmup},
                 {"seeds", json_of(experiment.seeds)},
                 {"interleave", experiment.interleaves_points ? "points" : "methods"},
                 {"threads", settings.context.threads},
                 {"isa", name_of(settings.context.isa)},
                 {"device", settings.device == Device::kCpu ? "cpu" : "cuda"}};
  // A folder whose points lack a requested metric is not continued.
  if (const auto asked = asked_for(experiment); !asked.empty()) wanted["asked_for"] = asked;
  Json left_out = Json::array();
  for (const MissingMethod& method : experiment.left_out)
    left_out.push_back({{"method", method.name}, {"reason", method.reason}});
  Json plots = Json::array();
  for (const PlotSpec& plot : experiment.plots)
    plots.push_back({{"family", plot.family},
                     {"x", plot.x},
                     {"y", plot.y},
                     {"series", plot.series},
                     {"name", plot.name},
                     {"title", plot.title},
                     {"log_x", plot.log_x},
                     {"log_y", plot.log_y},
                     {"panels", plot.panels},
                     {"rows", plot.rows},
                     {"reference", plot.reference},
                     {"stack", plot.stack}});
  int64_t points = 0;
  for (const Group& group : groups) points += static_cast<int64_t>(group.point_ids.size());
  return {{"config_hash", hash_of(wanted)},
          {"settings", wanted},
          {"points", points},
          {"caption",
           {{"title", experiment.title},
            {"paper", experiment.paper},
            {"figure", experiment.figure},
            {"note", experiment.note}}},
          {"metrics", experiment.metrics},
          {"left_out", left_out},
          {"paper_numbers", experiment.paper_numbers},
          {"axis_units", units},
          {"plots", plots}};
}

}  // namespace reprise::experiments
