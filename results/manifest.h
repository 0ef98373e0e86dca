// The manifest of a results folder, run.json: what was planned and which figures show it. visit()
// is the schema. Anybody may have written the file, so it is read strictly.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/fields.h"
#include "results/record.h"

namespace reprise::results {

// Upper bound on the points of a sweep.
inline constexpr int64_t kMostPlannedPoints = 10000;

struct PlannedModel {
  std::string model, weights;  // "random" or "checkpoint"
  std::string weight_format;   // "" if it is not named

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.defaulted("model", self.model);
    visitor.defaulted("weights", self.weights);
    visitor.optional("weight_format", self.weight_format);
  }
};

struct PlannedMethod {
  std::string name;
  Fields options;  // options that the experiment file sets

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.name("name", self.name);
    visitor.defaulted("options", self.options);
  }
};

// The settings whose hash distinguishes experiments. Older manifests lack some settings.
struct PlannedSettings {
  std::string name, kind, scale;
  std::vector<PlannedModel> models;
  std::vector<std::string> dtypes;
  std::string kv_dtype;
  std::vector<PlannedMethod> methods;
  Fields workload;
  std::map<std::string, Values> axes;  // values of each: numbers or words
  // Values of the axes that change together, and perhaps of model, weights, weight_format and
  // dtype. All cases name the same settings. Often there are no cases.
  std::vector<Fields> cases;
  std::optional<int64_t> repetitions, warmup;
  std::map<std::string, int64_t> seeds;
  std::string interleave;  // "points" or "methods"
  std::optional<int64_t> threads;
  std::string isa, device;
  std::vector<std::string> asked_for;  // measured metrics with MetricInfo::is_on_request

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.defaulted("name", self.name);
    visitor.defaulted("kind", self.kind);
    visitor.defaulted("scale", self.scale);
    visitor.defaulted("models", self.models);
    visitor.defaulted("dtypes", self.dtypes);
    visitor.optional("kv_dtype", self.kv_dtype);
    visitor.defaulted("methods", self.methods);
    visitor.optional("workload", self.workload);
    visitor.defaulted("axes", self.axes);
    visitor.optional("cases", self.cases);
    visitor.optional("repetitions", self.repetitions);
    visitor.optional("warmup", self.warmup);
    visitor.optional("seeds", self.seeds);
    visitor.optional("interleave", self.interleave);
    visitor.optional("threads", self.threads);
    visitor.optional("isa", self.isa);
    visitor.optional("device", self.device);
    visitor.optional("asked_for", self.asked_for);
  }
};

// True if the case is planned with this model and dtype: it names no others.
[[nodiscard]] bool is_case_of(const Fields& one_case, const PlannedModel& model,
                              const std::string& dtype);

// Words around a figure. They may hold placeholders; see results/placeholders.h.
struct Caption {
  std::string title, paper, figure, note;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.defaulted("title", self.title);
    visitor.defaulted("paper", self.paper);
    visitor.defaulted("figure", self.figure);
    visitor.defaulted("note", self.note);
  }
};

// A figure to draw from the records.
struct Plot {
  std::string family = "lines";  // one of figure_families()
  std::string x;                 // an axis
  std::string y;                 // a metric, or a percentile of one ("ttft_ms.p99")
  // "method", "model", "weights", "dtype", "weight_format", or an axis
  std::string series = "method";
  std::string name;   // name of the figure's files
  std::string title;  // may hold placeholders
  bool log_x = false, log_y = false;
  std::string panels;              // an axis with one panel per value; "": one panel
  std::string rows;                // map: the vertical axis
  std::string reference;           // lines: a metric drawn dashed as theory; "": none
  std::vector<std::string> stack;  // stack: the metrics that make up a bar
  std::string note;                // the caption's note, filled in for this figure's records

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.defaulted("family", self.family);
    visitor.name("x", self.x);
    visitor.defaulted("y", self.y);
    visitor.defaulted("series", self.series);
    visitor.name("name", self.name);
    visitor.defaulted("title", self.title);
    visitor.defaulted("log_x", self.log_x);
    visitor.defaulted("log_y", self.log_y);
    visitor.defaulted("panels", self.panels);
    visitor.defaulted("rows", self.rows);
    visitor.defaulted("reference", self.reference);
    visitor.defaulted("stack", self.stack);
    visitor.optional("note", self.note);
  }
};

struct Manifest {
  std::string config_hash;  // hash of the settings
  PlannedSettings settings;
  Fields identity;  // {code, machine, sources}; see results/identity.h. Empty in older manifests.
  bool is_mixed = false;  // --mix let other identities measure some points
  int64_t points = 0;     // number of points in the sweep
  Caption caption;
  std::vector<std::string> metrics;  // columns of the table, the most important first
  std::vector<LeftOut> left_out;
  // One for each of settings.methods, "" for a method without a label. Absent in older manifests.
  std::optional<std::vector<std::string>> labels;
  std::vector<std::string> paper_numbers;         // files of results/papers/
  std::map<std::string, std::string> axis_units;  // "": no unit
  std::vector<Plot> plots;
  std::string mean_over;  // axis over whose values tables show means; "": none

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.defaulted("config_hash", self.config_hash);
    visitor.required("settings", self.settings);
    visitor.optional("identity", self.identity);
    visitor.optional("mixed", self.is_mixed);
    visitor.defaulted("points", self.points);
    visitor.defaulted("caption", self.caption);
    visitor.defaulted("metrics", self.metrics);
    visitor.defaulted("left_out", self.left_out);
    visitor.optional("labels", self.labels);
    visitor.defaulted("paper_numbers", self.paper_numbers);
    visitor.defaulted("axis_units", self.axis_units);
    visitor.defaulted("plots", self.plots);
    visitor.defaulted("mean_over", self.mean_over);
  }
};

// True for 1 to 100 letters, digits, '_', '-' and '.', not beginning with '.' or '-'. Figures'
// files get these names, and a results folder may come from anywhere.
[[nodiscard]] bool is_figure_name(std::string_view name);

// The known families of figures.
[[nodiscard]] const std::vector<std::string>& figure_families();

// Reads the fields of a manifest. Throws Error naming `source`, the key, the value found and the
// accepted values. check_manifest() checks that tables and figures can be made of it.
[[nodiscard]] Manifest read_manifest(const Value& found, const std::string& source);

// Throws Error, naming `source` and the key, for a manifest from which no table or figure can be
// made, for example because of more than kMostPlannedPoints points, an axis without values, a
// figure with an unknown axis or family, or two figures of one name.
void check_manifest(const Manifest& manifest, const std::string& source);

// Checks a manifest that was not read from run.json but made from an experiment file or from
// records: applies the checks of read_manifest() and then those of check_manifest().
void check_made_manifest(const Manifest& manifest, const std::string& source);

}  // namespace reprise::results
