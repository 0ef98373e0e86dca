#include "experiments/framework/experiment_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "experiments/framework/experiment_entries.h"
#include "results/better.h"
#include "results/manifest.h"
#include "results/metric_name.h"

namespace reprise::experiments {
namespace {

class PlotsReader {
 public:
  PlotsReader(JsonObject& file, const std::string& source, Experiment& experiment)
      : file_(file), source_(source), experiment_(experiment) {}

  void read() {
    if (!file_.has("plot")) return;
    const Value& plots = file_.at("plot");
    if (!plots.is_list()) return read_plot(plots, "plot");
    for (size_t i = 0; i < plots.size(); ++i)
      read_plot(plots.list()[i], "plot." + std::to_string(i));
  }

 private:
  const MetricInfo& metric_named(const JsonObject& plot, const std::string& key,
                                 const std::string& name) const {
    return find_named(experiment_.kind.metrics, "metric", name, plot.where(key));
  }

  void read_stack(JsonObject& plot, results::Plot& spec) const {
    std::set<std::string> seen;
    std::string unit;
    for (const Value& name : list_at(plot, "stack")) {
      if (!name.is_text()) raise("{} must hold names of metrics", plot.where("stack"));
      require_different(seen, name.text(), plot.where("stack"));
      const MetricInfo& part = metric_named(plot, "stack", name.text());
      if (seen.empty()) unit = part.unit;
      if (part.unit != unit)
        raise("{}: {} is in {} and {} in {}, which do not add up; give metrics of one unit",
              plot.where("stack"), spec.stack[0], unit, part.name, part.unit);
      seen.insert(part.name);
      spec.stack.push_back(part.name);
    }
    spec.y = plot.string("name", "stack");
  }

  // A map names the fastest method, and its first method has the ratio 1.
  void require_speedup(const std::string& name, const std::string& where) const {
    std::vector<std::string> speedups;
    for (const MetricInfo& metric : experiment_.kind.metrics)
      if (metric.name.find("speedup") != std::string::npos &&
          results::better_of(metric.name, metric.unit) == results::Better::kHigher)
        speedups.push_back(metric.name);
    const std::string metric = results::split_metric_name(name).metric;
    if (std::find(speedups.begin(), speedups.end(), metric) == speedups.end())
      raise("{}: a map shows a speedup over the first method, and {} is none; kind \"{}\" has {}",
            where, name, experiment_.kind.name,
            speedups.empty() ? "none" : fmt::format("{}", fmt::join(speedups, ", ")));
  }

  // Reads the keys that not every family of plots has.
  void read_family_keys(JsonObject& plot, results::Plot& spec) const {
    if (spec.family == "stack") return read_stack(plot, spec);
    spec.y = plot.string("y");
    require_shown_metric(experiment_.kind, spec.y, plot.where("y"));
    if (spec.family == "map") {
      spec.rows = plot.string("rows");
      require_name(experiment_.kind.axis_names(), "axis", spec.rows, plot.where("rows"));
      require_speedup(spec.y, plot.where("y"));
    }
    if (spec.family == "lines" && plot.has("reference"))
      spec.reference = metric_named(plot, "reference", plot.string("reference")).name;
  }

  void read_plot(const Value& json, const std::string& path) {
    JsonObject plot(json, source_, path);
    const std::vector<std::string> axes = experiment_.kind.axis_names();
    results::Plot spec{.family = plot.string("family", "lines"),
                       .x = plot.string("x"),
                       .y = "",
                       .series = plot.string("series", "method"),
                       .name = "",
                       .title = plot.string("title", experiment_.title),
                       .log_x = plot.boolean("log_x", false),
                       .log_y = plot.boolean("log_y", false),
                       .panels = plot.string("panels", ""),
                       .rows = "",
                       .reference = "",
                       .stack = {},
                       .note = ""};
    require_name(results::figure_families(), "plot family", spec.family, plot.where("family"));
    check_placeholders(experiment_.kind, spec.title, plot.where("title"));
    read_family_keys(plot, spec);
    spec.name = plot.string("name", spec.y);
    plot.reject_unknown();
    require_name(axes, "axis", spec.x, plot.where("x"));
    if (spec.log_x && !experiment_.kind.find_axis(spec.x)->takes_numbers())
      raise("{}: the values of {} are words, which have no logarithm; leave it out",
            plot.where("log_x"), spec.x);
    std::vector<std::string> panels = {"model", "weights", "dtype", "weight_format"};
    panels.insert(panels.end(), axes.begin(), axes.end());
    if (!spec.panels.empty()) require_name(panels, "panels", spec.panels, plot.where("panels"));
    std::vector<std::string> series = panels;
    series.emplace_back("method");
    require_name(series, "series", spec.series, plot.where("series"));
    if (!results::is_figure_name(spec.name))
      raise("{} is {}: it names files, with letters, digits, '_', '-' and '.', at most 100",
            plot.where("name"), shown(spec.name));
    for (const results::Plot& other : experiment_.plots)
      if (other.name == spec.name)
        raise("{}: two figures are called \"{}\"; give one a \"name\"", source_, spec.name);
    experiment_.plots.push_back(std::move(spec));
  }

  JsonObject& file_;
  const std::string& source_;
  Experiment& experiment_;
};

}  // namespace

void read_plots(JsonObject& file, const std::string& source, Experiment& experiment) {
  PlotsReader(file, source, experiment).read();
}

}  // namespace reprise::experiments
