// What an experiment kind is: the axes it can sweep, the metrics it takes, and how it measures a
// group.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/weight_format.h"
#include "core/reuse/options.h"
#include "experiments/framework/axis.h"
#include "workloads/workload.h"

namespace reprise::experiments {

// The names of things that have one, for messages.
template <typename T>
std::vector<std::string> names_of(const std::vector<T>& things) {
  std::vector<std::string> names;
  for (const T& thing : things) names.push_back(thing.name);
  return names;
}

// The one place where a metric's name, unit and help stand; what measures it names it by this.
struct MetricInfo {
  std::string name;
  std::string unit;
  std::string help;
  // Whether its samples have tails that matter: those of results::kPercentiles that their number
  // supports stand beside the median.
  bool has_percentiles = false;
  // Whether it takes time of its own, and so is taken only where an experiment asks for it: in its
  // "metrics" or in a figure.
  bool is_on_request = false;
  // Whether it may be below 0: a correlation, a loss. A record with another metric below 0 is
  // refused.
  bool is_signed = false;
};

// A method outside the registry, which the kind runs by itself.
struct OwnMethod {
  std::string name;
  std::string help;
  // All options for those that a file gives, and what can be given; empty: there are none.
  std::function<Json(const JsonObject& given)> resolve_options = {};
  std::function<reuse::OptionList()> list_options = {};
};

struct KindInfo {
  std::string name;
  std::string summary;
  std::vector<Axis> axes;  // in the order a sweep nests them, outermost first
  std::vector<MetricInfo> metrics;
  std::vector<OwnMethod> own_methods = {};
  // Workloads outside the registry, which the kind reads by itself. A kind that has any takes no
  // other.
  std::vector<workloads::WorkloadInfo> own_workloads = {};
  // Whether it runs models on a workload; one that does not takes neither from a file.
  bool takes_model = true;
  // Whether it can measure several groups in turn, round by round: see Kind::measure_in_turn().
  bool interleaves_points = false;

  [[nodiscard]] std::vector<std::string> axis_names() const;
  [[nodiscard]] std::vector<std::string> metric_names() const;
  [[nodiscard]] std::vector<std::string> own_method_names() const;
  [[nodiscard]] bool has_own_method(const std::string& wanted) const;
  // Null where the kind has none of that name.
  [[nodiscard]] const OwnMethod* find_own_method(const std::string& wanted) const;
  // Null where the kind has none of that name.
  [[nodiscard]] const Axis* find_axis(const std::string& wanted) const;
};

struct ModelChoice {
  std::string model;  // a checkpoint's folder, or the name of a shipped shape; "": none
  bool random_weights = false;
  // How its layers' matrices are held; none: as plain values of the dtype.
  std::optional<WeightFormat> weight_format = std::nullopt;
};

struct MethodChoice {
  std::string name;
  Json options;                    // an object: those that the file sets
  Json resolved = Json::object();  // all of them
  std::string label = {};          // what tables and figures call it; "": name and options
};

// The name, with the options where any is set: tells the points of a group apart.
[[nodiscard]] inline std::string label_of(const MethodChoice& method) {
  return method.options.empty() ? method.name : method.name + " " + method.options.dump();
}

struct Workload {
  std::string name;
  std::string file;            // "" where the workload takes none
  std::string templates = {};  // likewise, or where the experiment names none
};

// A method that an experiment lists and this program cannot run.
struct MissingMethod {
  std::string name;
  std::string reason;  // with the remedy
};

// One per dimension, so that changing one leaves the others alone.
struct Seeds {
  uint64_t prompts = 1, weights = 1, sampling = 1, arrivals = 1, order = 1;
};

// Points that differ in their method only; they are measured interleaved, and written together.
struct Group {
  ModelChoice model;
  DType dtype = DType::kF32, kv_dtype = DType::kF32;
  Workload workload;
  std::map<std::string, AxisValue> axes;  // a value for each axis of the kind
  int64_t repetitions = 1, warmup = 0;
  Seeds seeds;

  std::string id;                      // hash of its points' ids
  std::string label;                   // for progress and errors
  std::vector<MethodChoice> methods;   // one for each point
  std::vector<std::string> asked_for;  // of the kind's metrics on request
  std::vector<std::string> point_ids;  // hash of `requested`
  std::vector<Json> requested;         // settings of each point

  [[nodiscard]] WeightType weight_type() const {
    return {model.weight_format.value_or(format_of(dtype)), dtype};
  }
  [[nodiscard]] bool asks_for(const MetricInfo& metric) const {
    return std::find(asked_for.begin(), asked_for.end(), metric.name) != asked_for.end();
  }
  // The value of an axis of the kind, of the type that the axis has (CHECK).
  [[nodiscard]] int64_t axis(const std::string& name) const { return axes.at(name).integer(); }
  [[nodiscard]] double real_axis(const std::string& name) const { return axes.at(name).real(); }
  [[nodiscard]] const std::string& word_axis(const std::string& name) const {
    return axes.at(name).word();
  }
};

// What came out for one point. Samples stand in the order they were taken.
struct Measurement {
  Json samples = Json::object();   // {metric: [numbers]}
  Json metrics = Json::object();   // {metric: {value, unit, ...}}
  Json resolved = Json::object();  // settings as they turned out, beside the requested ones
  Json answers = Json::object();   // outputs: hashes of generated tokens, agreement
  Json memory = Json::object();    // {name: bytes}
  Json core_use = Json::object();  // what the processor gave, sample by sample; of timed kinds
  // results::disturbed_json() where other programs took the cores: see Undisturbed. What is sampled
  // from then on, and what follows from it, is marked.
  Json disturbed = {};

  // A metric that is one number.
  void set(const MetricInfo& metric, double value);
  // A metric that is the median of numbers that are not kept, with their quartiles; at least one.
  void summarize(const MetricInfo& metric, const std::vector<double>& values);
  // The same of numbers that follow from the samples' times.
  void summarize_timed(const MetricInfo& metric, const std::vector<double>& values);
  // A metric that follows from another, fn(that), strictly up or down: a rate from a time. Its
  // median and its spread are fn of that one's.
  template <typename Fn>
  void derive(const MetricInfo& metric, const MetricInfo& from, Fn&& fn) {
    set(metric, fn(metrics.at(from.name)["value"].get<double>()));
    derive_spread(metric, from, fn);
  }
  // The same of samples, which are kept. Without any, the metric is left out.
  void sample(const MetricInfo& metric, const std::vector<double>& samples);

 private:
  void derive_spread(const MetricInfo& metric, const MetricInfo& from,
                     const std::function<double(double)>& fn);
};

// What a group takes of memory at least.
struct MemoryNeed {
  double bytes = 0;
  std::string of_what;  // "2.10 GiB for weights and ..."
};

// Thrown by measure() when `stop` was raised: the group in flight is given up.
struct Interrupted {};

class Kind {
 public:
  virtual ~Kind() = default;
  // Why this program cannot run a method that it knows, with the remedy; "" if it can.
  [[nodiscard]] virtual std::string missing(const MethodChoice& method) const {
    (void)method;
    return "";
  }
  // Throws Error when the group can never run, on whatever machine (a shape beyond the model, a
  // file that cannot be read), several problems as one ProblemsError. Called for every group before
  // the first is measured, so that it loads no weights; its caller adds the group's label.
  virtual void check(const Group& group) = 0;
  // Of a group that check() lets pass. One that needs more than there is is skipped.
  [[nodiscard]] virtual MemoryNeed memory_need(const Group& group) = 0;
  // One measurement for each of the group's methods. `machine` has the machine's measured limits.
  virtual std::vector<Measurement> measure(const Group& group, const Json& machine,
                                           const std::atomic<bool>& stop) = 0;
  // The same of several groups, repetition r of each before repetition r + 1 of any, so that a slow
  // moment of the machine meets a whole curve and not one of its points. All are set up at once and
  // take the memory of all. A kind that does not interleave measures one after another.
  virtual std::vector<std::vector<Measurement>> measure_in_turn(
      std::span<const Group* const> groups, const Json& machine, const std::atomic<bool>& stop) {
    std::vector<std::vector<Measurement>> all;
    for (const Group* group : groups) all.push_back(measure(*group, machine, stop));
    return all;
  }
};

}  // namespace reprise::experiments
