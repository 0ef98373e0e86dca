// Experiment files, read strictly so that a misspelt key is never measured as its default.
//
// Required keys: name, title, kind, methods or series (or both, if the kind has both), and models
// if the kind takes any. Optional keys: paper, figure, note, compared_with ("methods" or "series"),
// dtypes, kv_dtype, workload, settings (one value per axis), sweep (a list per axis), cases (a list
// of objects with one value per axis), metrics, repetitions, warmup, interleave ("points" or
// "methods"), seeds, paper_numbers, mean_over (an axis), plot (one or a list) and scales.
//
// A sweep takes every combination of its lists. Axes that change together are listed in cases. Each
// case sets the same axes, and each is combined with every combination of the sweep.
//
// A scale may have a "stand_in": keys that replace keys of the scale if a model or data set that
// the scale names is absent, so that the experiment runs without a download. The "note" of a
// stand_in says which models or data sets it replaces.
//
// The points of a group are its methods, in the file's order, followed by its series. With
// "compared_with": "series", the series come first. All points are compared with the first point.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "experiments/framework/kind.h"
#include "experiments/framework/overrides.h"
#include "results/manifest.h"
#include "workloads/registry.h"

namespace reprise::experiments {

// A method of the registry.
struct KnownMethod {
  std::string name;
  // Returns the reason why the method does not run in kinds with this use; "" if it does.
  std::function<std::string(MethodUse)> refusal;
  // Returns all options with those of `given` set. Throws Error naming the option.
  std::function<Fields(const JsonObject& given)> resolve_options;
};

// The names an experiment file may use.
struct Vocabulary {
  std::vector<KindInfo> kinds;
  std::vector<KnownMethod> methods;
  std::vector<workloads::WorkloadInfo> workloads;
};

// Key of a case's model.
inline constexpr const char* kModelOfCase = "model";

// True if a case of an experiment is measured with `model`: the case names this model or no model.
[[nodiscard]] bool is_case_of(const AxisValues& one_case, const ModelChoice& model);

struct Experiment {
  std::string name;    // name of the results folder: letters, digits, '_', '-'
  std::string paper;   // the paper that the experiment is from; "": none
  std::string figure;  // the paper's figure or table that the experiment is from
  // May contain placeholders for settings, e.g. {batch}; see results/placeholders.h.
  std::string title;
  std::string note;  // for a reader of the figure; may contain placeholders
  std::string scale;
  bool has_stand_in = false;  // the scale has a "stand_in", which is not applied
  KindInfo kind;
  std::vector<ModelChoice> models;
  std::vector<DType> dtypes;
  std::string kv_dtype;               // "same" (as dtype) or a dtype's name
  std::vector<MethodChoice> methods;  // methods and series, in the order of the points
  // Methods and series in the file that are not measured; see leave_out_missing().
  std::vector<results::LeftOut> left_out;
  Workload workload;
  std::vector<std::vector<AxisValue>> axis_values;  // values per axis of the kind, none empty
  // Values of the axes that change together; one case without axes if there are none. For these
  // axes, axis_values has the distinct values of all cases. Cases may also name a model, under
  // kModelOfCase, and are then measured with this model only; models without a case have the values
  // in "settings".
  std::vector<AxisValues> cases = {{}};
  // Columns of the table, metrics or percentiles; default: all metrics.
  std::vector<std::string> metrics;
  int64_t repetitions = 5, warmup = 1;
  // True: several groups are measured in turn, not only the methods of one group. By default it is
  // KindInfo::interleaves_points.
  bool interleaves_points = false;
  Seeds seeds;
  std::string mean_over;                   // Manifest::mean_over
  std::vector<std::string> paper_numbers;  // files of results/papers/ shown beside our numbers
  std::vector<results::Plot> plots;
};

// Returns `text`, a title or note, with each placeholder replaced by the values that its setting
// takes in the experiment.
[[nodiscard]] std::string filled(const std::string& text, const Experiment& experiment);

// Reads an experiment file; the top of this header lists its keys. `overrides` are the arguments of
// --set. Every scale of the file is checked, not only `scale`. Throws Error naming file and key;
// several mistakes of one scale are reported together (ProblemsError). kStandIn applies the scale's
// "stand_in" before `overrides`.
Experiment parse_experiment(const Value& file, const std::string& source, const std::string& scale,
                            const std::vector<std::string>& overrides, const Vocabulary& vocabulary,
                            Inputs inputs = Inputs::kNamed);
Experiment load_experiment(const std::filesystem::path& path, const std::string& scale,
                           const std::vector<std::string>& overrides, const Vocabulary& vocabulary,
                           Inputs inputs = Inputs::kNamed);

}  // namespace reprise::experiments
