// An experiment kind: the axes it can sweep, its metrics, and how it measures a group.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/interrupted.h"
#include "core/base/json.h"
#include "core/base/look.h"
#include "core/base/metric_info.h"
#include "core/base/value.h"
#include "core/base/weight_format.h"
#include "core/device/machine.h"
#include "core/reuse/options.h"
#include "experiments/framework/axis.h"
#include "experiments/framework/axis_visitor.h"
#include "results/record.h"
#include "workloads/workload.h"

namespace reprise::experiments {

// Returns the names of a list of named things, for messages.
template <typename T>
std::vector<std::string> names_of(const std::vector<T>& things) {
  std::vector<std::string> names;
  for (const T& thing : things) names.push_back(thing.name);
  return names;
}

// How a kind uses methods. This decides which methods can run in the kind.
enum class MethodUse : uint8_t {
  kPlans,       // runs attention over methods' plans; takes methods that are only a cache
  kGeneration,  // generates text after prompts
  kPrefill,     // computes prompts layer by layer; nothing is generated
  kMarkup       // answers prompts in a method's own markup
};

// Something other than a method that the kind measures in addition to methods or instead of them: a
// baseline, an operator of another library, a way to copy, a quantity to count. Experiment files
// list it under "series". Its records have its name in place of a method's name.
struct Series {
  std::string name;
  std::string help;
  // resolve_options completes the options given in a file; list_options lists the accepted options.
  // Both are empty if the series has no options.
  std::function<Fields(const JsonObject& given)> resolve_options = {};
  std::function<reuse::OptionList()> list_options = {};
  Look look = {};  // look in figures
};

struct KindInfo {
  std::string name;
  std::string summary;
  // The axes that the kind can sweep, outermost loop first. list_axes() makes them from the struct
  // that declares them (axis_visitor.h).
  std::vector<Axis> axes;
  std::vector<MetricInfo> metrics;
  std::vector<Series> series = {};
  // How the kind uses methods. Empty: the kind measures no methods, only its series.
  std::optional<MethodUse> method_use = MethodUse::kGeneration;
  // Workloads outside the registry that the kind reads itself. A kind with such workloads takes no
  // others.
  std::vector<workloads::WorkloadInfo> own_workloads = {};
  // False if the kind runs no models; an experiment file then may name neither models nor a
  // workload of the registry.
  bool takes_model = true;
  // True if the kind can measure several groups in turn, repetition by repetition; see
  // Kind::measure_in_turn().
  bool interleaves_points = false;

  [[nodiscard]] std::vector<std::string> axis_names() const;
  [[nodiscard]] std::vector<std::string> metric_names() const;
  [[nodiscard]] std::vector<std::string> series_names() const;
  // Returns null if the kind has no such series.
  [[nodiscard]] const Series* find_series(const std::string& wanted) const;
  // Returns null if the kind has no such axis.
  [[nodiscard]] const Axis* find_axis(const std::string& wanted) const;
};

// Value of "weight_format" for matrices that hold plain values of the dtype.
inline constexpr const char* kPlainWeights = "plain";

struct ModelChoice {
  // A checkpoint's folder, or the name of a shipped shape; "": no model.
  std::string model;
  bool random_weights = false;
  // Format of the layers' matrices; empty: plain values of the dtype.
  std::optional<WeightFormat> weight_format = std::nullopt;
};

// A method, or a series of the kind, as an experiment file lists it.
struct MethodChoice {
  std::string name;
  Fields options = {};     // options that the file sets
  Fields resolved = {};    // all options
  std::string label = {};  // name in tables and figures; "": name and options
};

// The method or series that was measured for a record, with the options that its experiment set.
[[nodiscard]] MethodChoice method_of(const results::Record& record);

// Returns the method's name, and the options if any are set. Labels are different for different
// points of a group.
[[nodiscard]] std::string label_of(const MethodChoice& method);

struct Workload {
  std::string name;
  std::string file;            // "" if the workload has no file
  std::string templates = {};  // "" if the experiment names none
};

// One seed for each kind of random draw, so that changing one seed leaves the other draws as they
// are.
struct Seeds {
  uint64_t prompts = 1, weights = 1, sampling = 1, arrivals = 1, order = 1;
};

// Points that differ only in their method; they are measured interleaved and written together.
struct Group {
  ModelChoice model;
  DType dtype = DType::kF32, kv_dtype = DType::kF32;
  Workload workload;
  AxisValues axes;  // one value for each axis of the kind; read by axes_as()
  int64_t repetitions = 1, warmup = 0;
  Seeds seeds;

  std::string id;                     // hash of its points' ids
  std::string label;                  // for progress and errors
  std::vector<MethodChoice> methods;  // one per point; all are compared with the first method
  // Names of the kind's metrics with is_on_request that the experiment asks for.
  std::vector<std::string> asked_for;
  std::vector<std::string> point_ids;  // hash of `requested`, see sweep.cpp
  std::vector<Fields> requested;       // settings of each point

  [[nodiscard]] WeightType weight_type() const {
    return {model.weight_format.value_or(format_of(dtype)), dtype};
  }
  [[nodiscard]] bool asks_for(const MetricInfo& metric) const {
    return std::find(asked_for.begin(), asked_for.end(), metric.name) != asked_for.end();
  }
  // Returns the axes as T, which must be the struct of axes of the group's kind (CHECK).
  template <KindAxes T>
  [[nodiscard]] T axes_as() const {
    return read_axes<T>(axes);
  }
};

// The results of one point. Samples are in the order they were taken.
struct Measurement {
  std::map<std::string, std::vector<double>> samples;  // by metric
  results::Metrics metrics;
  Fields resolved;                            // settings as they turned out
  Fields answers;                             // outputs: hashes of generated tokens, agreement
  std::map<std::string, int64_t> memory;      // bytes
  std::optional<results::CoreUses> core_use;  // for each sample; only in kinds that time work
  // results::disturbed_mark() if other programs took the cores; see Undisturbed. Once it is set,
  // summarize_timed() and sample() attach it to their metrics, and derive() copies it.
  std::optional<results::Disturbed> disturbed;

  // Sets a metric that is one number. The reference is valid until another metric is set.
  results::Metric& set(const MetricInfo& metric, double value);
  // The value of a metric; 0 if it is not set.
  [[nodiscard]] double value(const MetricInfo& metric) const;
  // Sets a metric to the median and quartiles of `values` (at least one). `values` are not stored.
  void summarize(const MetricInfo& metric, const std::vector<double>& values);
  // Like summarize(), for numbers derived from the samples' times: also marks them as disturbed.
  void summarize_timed(const MetricInfo& metric, const std::vector<double>& values);
  // Sets a metric that is a strictly monotonic function `fn` of metric `from`, e.g. a rate from a
  // time. Its median and spread are `fn` of the median and spread of `from`.
  template <typename Fn>
  void derive(const MetricInfo& metric, const MetricInfo& from, Fn&& fn) {
    set(metric, fn(metrics.at(from.name).value));
    derive_spread(metric, from, fn);
  }
  // Like summarize_timed(), but stores `samples`, too. If they are empty, sets no metric.
  void sample(const MetricInfo& metric, const std::vector<double>& samples);

 private:
  void derive_spread(const MetricInfo& metric, const MetricInfo& from,
                     const std::function<double(double)>& fn);
};

// The least memory that a group takes.
struct MemoryNeed {
  double bytes = 0;
  std::string of_what;  // e.g. "2.10 GiB for weights and ..."
};

class Kind {
 public:
  virtual ~Kind() = default;
  // Sets the function that measure() calls with progress messages, between timed pieces of work.
  void tell_by(std::function<void(const std::string& doing)> tell) { tell_ = std::move(tell); }
  // Returns why this program cannot run a method although it knows the method's name, with the
  // remedy; "" if it can.
  [[nodiscard]] virtual std::string missing(const MethodChoice& method) const {
    (void)method;
    return "";
  }
  // Throws Error if the group cannot run on any machine, for example because of a prompt longer
  // than the model's positions or a file that cannot be read. Several problems become one
  // ProblemsError. Called for every group before the first is measured, so it must not load
  // weights. The caller adds the group's label to errors.
  virtual void check(const Group& group) = 0;
  // Returns the memory that a group needs; the group has passed check(). The caller skips groups
  // that need more memory than is available.
  [[nodiscard]] virtual MemoryNeed memory_need(const Group& group) = 0;
  // Returns one measurement per method of the group. `machine` has the machine's measured limits.
  // Throws Interrupted if `stop` is set; the group's measurements so far are then lost.
  virtual std::vector<Measurement> measure(const Group& group, const Machine& machine,
                                           const std::atomic<bool>& stop) = 0;
  // Like measure(), for several groups: repetition r of each group comes before repetition r + 1 of
  // any group, so that a slow moment of the machine affects a whole curve. All groups are set up at
  // the same time, so they need the sum of their memory. This default, for kinds that do not
  // interleave, measures the groups one after another.
  virtual std::vector<std::vector<Measurement>> measure_in_turn(
      std::span<const Group* const> groups, const Machine& machine, const std::atomic<bool>& stop) {
    std::vector<std::vector<Measurement>> all;
    for (const Group* group : groups) all.push_back(measure(*group, machine, stop));
    return all;
  }

 protected:
  // Passes a progress message, such as "san: 40 texts computed", to the function of tell_by(). Must
  // not be called within timed work.
  void tell(const std::string& doing) const {
    if (tell_) tell_(doing);
  }
  // Called before each turn of a method of the group: reports "paged, repetition 2 of 5" or "paged,
  // warm-up". `repetition` counts from 0; negative values are warm-ups. Throws Interrupted if
  // `stop` is set.
  void begin_turn(const Group& group, int64_t repetition, size_t method,
                  const std::atomic<bool>& stop) const;

 private:
  std::function<void(const std::string& doing)> tell_;
};

}  // namespace reprise::experiments
