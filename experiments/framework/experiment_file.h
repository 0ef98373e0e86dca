// An experiment file: what is measured, read strictly, so that a misspelt key is never measured as
// its default.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "experiments/framework/kind.h"
#include "workloads/registry.h"

namespace reprise::experiments {

// A method that every kind runs.
struct KnownMethod {
  std::string name;
  // All of its options where `given` is given. Throws Error naming the option.
  std::function<Json(const JsonObject& given)> resolve_options;
};

// A model's "weight_format" where none is given: its matrices hold values of the dtype.
inline constexpr const char* kPlainWeights = "plain";

// The names an experiment file may use.
struct Vocabulary {
  std::vector<KindInfo> kinds;
  std::vector<KnownMethod> methods;
  std::vector<workloads::WorkloadInfo> workloads;
};

// A figure to draw from the records.
struct PlotSpec {
  std::string family;  // "lines", "map", "stack" or "attention"
  std::string x;       // an axis of the kind
  std::string y;       // a metric of the kind, or a percentile of one ("ttft_ms.p99")
  std::string series;  // "method", "model", "dtype", "weight_format", or an axis
  std::string name;    // of the files; the metric by default
  std::string title;   // the experiment's by default
  bool log_x = false, log_y = false;
  std::string panels;              // an axis: one panel for each of its values; "": one panel
  std::string rows;                // map: the axis that runs upwards
  std::string reference;           // lines: a metric drawn as theory, dashed; "": none
  std::vector<std::string> stack;  // stack: the metrics that a bar is made of
};

struct Experiment {
  std::string name;    // of the results folder: letters, digits, '_', '-'
  std::string paper;   // "" where it is not from a paper
  std::string figure;  // as the paper calls it
  // With placeholders, {batch}, for settings of the points: see results/placeholders.h.
  std::string title;
  std::string note;  // what a reader must know to read the figure; with placeholders too
  std::string scale;
  KindInfo kind;
  std::vector<ModelChoice> models;
  std::vector<DType> dtypes;
  std::string kv_dtype;  // "same" as dtype, or a dtype's name
  std::vector<MethodChoice> methods;
  std::vector<MissingMethod> left_out;  // listed, but not measured: see leave_out_missing()
  Workload workload;
  std::vector<std::vector<AxisValue>> axis_values;  // of each axis of the kind, none empty
  std::vector<std::string> metrics;  // shown in the table, or percentiles; all metrics by default
  int64_t repetitions = 5, warmup = 1;
  bool interleaves_points =
      false;  // and not only a point's methods; where the kind can, by default
  Seeds seeds;
  std::vector<std::string> paper_numbers;  // of results/papers/, to stand beside ours
  std::vector<PlotSpec> plots;
};

// The title with the settings that the whole experiment has.
[[nodiscard]] std::string filled(const std::string& text, const Experiment& experiment);

// Keys of a file: name, title, kind, models (if the kind takes any), methods (these must be there),
// paper, figure, note, dtypes, kv_dtype, workload, settings (one value for an axis), sweep (a list
// for an axis), metrics, repetitions, warmup, interleave ("points" or "methods"), seeds,
// paper_numbers, plot (one or a list), scales. `overrides` are texts of --set. Every scale of the
// file is checked, not only the one that is asked for. Throws Error naming file and key; several
// mistakes of one scale are told at once (ProblemsError).
Experiment parse_experiment(const Json& file, const std::string& source, const std::string& scale,
                            const std::vector<std::string>& overrides,
                            const Vocabulary& vocabulary);
Experiment load_experiment(const std::filesystem::path& path, const std::string& scale,
                           const std::vector<std::string>& overrides, const Vocabulary& vocabulary);

}  // namespace reprise::experiments
