// A method of attention-state reuse as users meet it: one thing with up to three parts, of which an
// engine takes those that there are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/look.h"
#include "core/base/metric_info.h"
#include "core/device/context.h"
#include "core/engine/request.h"
#include "core/model/config/config.h"
#include "core/model/network/layer_policy.h"
#include "core/reuse/options.h"
#include "core/reuse/sequence_cache.h"

namespace reprise {
class DeviceRuntime;
}

namespace reprise::methods {

enum class Exactness : uint8_t { kExact, kApproximate };

// What a method is called and what it can do. Tables, figures, `reprise list` and refusals take
// their words from here.
struct MethodInfo {
  std::string name;     // in experiment files and records
  std::string summary;  // one line for `reprise list`
  std::string paper;    // "" for baselines
  Exactness exactness = Exactness::kExact;
  Look look;
  // Whether its cache is all of it, so that its plans can be compared without a model.
  bool is_cache = false;
  // Whether its layer policy is all of it, so that another policy may run beside it.
  bool is_policy = false;
  // Whether that policy leaves layers out, so that a policy beside it has no say in these.
  bool skips_layers = false;
  // Why nothing can be generated with it, and why it cannot be compared where prompts are computed
  // layer by layer and nothing is generated (kinds "prefill" and "sentences"): the end of a
  // sentence that begins "method NAME does not run here: ". "" where it can.
  std::string cannot_generate;
  std::string cannot_prefill;
  std::vector<MetricInfo> metrics;  // that report() may give
};

// What prepare() gets.
struct Setup {
  // Computes one prompt, whole, in a step of its own, and returns what comes out: a vector, or the
  // logits of choices. `policy` decides its layers; null: all compute.
  using Run =
      std::function<std::vector<float>(std::span<const int32_t> ids, model::LayerPolicy* policy)>;

  Context context;                         // of the CPU, for what a method computes itself
  std::shared_ptr<DeviceRuntime> runtime;  // the model's device; null: the CPU
  const model::ModelConfig& config;
  std::string model;  // tells apart models and the ways their weights are held
  uint64_t seed = 1;
  Run run;
  // Prompts that no query has: to be stored; and others to learn from before that.
  std::span<const std::vector<int32_t>> database, training;

  // Prompts to choose layers by: those for training, or else the database's.
  [[nodiscard]] std::span<const std::vector<int32_t>> calibration() const {
    return training.empty() ? database : training;
  }
};

// What an engine takes of a method. Parts keep alive what they need of it.
struct Parts {
  // Where keys and values lie and who reads which; null: they lie as without any reuse, in the
  // contiguous cache.
  std::unique_ptr<reuse::SequenceCache> cache;
  std::vector<std::shared_ptr<reuse::PlanContributor>> contributors;
  std::shared_ptr<model::LayerPolicy> policy;  // null: every layer computes
};

// What came of the prompts since begin_turn().
struct TurnCounts {
  int64_t reused_layers = 0;  // (prompt, layer) pairs that were computed with stored maps
  double retrieval_ms = 0, loading_ms = 0;
};

// Takes what a method reports: metrics of its info, and settings as they turned out.
class ReportSink {
 public:
  virtual ~ReportSink() = default;
  virtual void metric(const MetricInfo& metric, double value) = 0;
  virtual void setting(const std::string& name, const Json& value) = 0;
};

class Method {
 public:
  virtual ~Method() = default;
  [[nodiscard]] virtual const MethodInfo& info() const = 0;
  // Why this program cannot run it with its options, with the remedy; "" where it can.
  [[nodiscard]] virtual std::string missing() const { return ""; }
  // Once, before parts(): encodes modules, trains, stores maps. Throws Error where the setup lacks
  // what the method needs, with the remedy.
  virtual void prepare(const Setup& /*setup*/) {}
  // Once for each engine.
  [[nodiscard]] virtual Parts parts() = 0;
  // Makes a request what this method wants it to be: pads its prompt, attaches what it imports.
  // Called before the request is submitted.
  virtual void shape(engine::Request& /*request*/) {}
  // The request has ended, and its id may be used again.
  virtual void done(engine::RequestId /*id*/) {}
  // Whether it looks prompts up, so that some hit and others do not.
  [[nodiscard]] virtual bool looks_up() const { return false; }
  // Counts begin anew.
  virtual void begin_turn() {}
  [[nodiscard]] virtual TurnCounts counts() const { return {}; }
  virtual void report(ReportSink& /*sink*/) const {}
};

// A method of the list, before it is made: its info, its options, and how to make it.
struct MethodEntry {
  MethodInfo info;
  // The next two throw Error naming the option, what was found and what is accepted; for an unknown
  // option, the nearest.
  std::function<Json(const JsonObject& given)> resolve_options;
  std::function<std::unique_ptr<Method>(const JsonObject& given)> make;
  std::function<reuse::OptionList()> list_options;
};

// The entry of a method that make(info, options) makes.
template <reuse::Options Options, typename Make>
MethodEntry method_entry(MethodInfo info, Make make) {
  MethodEntry entry{.info = std::move(info)};
  entry.resolve_options = [](const JsonObject& given) {
    return reuse::options_json(reuse::read_options<Options>(given));
  };
  entry.make = [info = entry.info, make](const JsonObject& given) -> std::unique_ptr<Method> {
    return make(info, reuse::read_options<Options>(given));
  };
  entry.list_options = reuse::list_options<Options>;
  return entry;
}

}  // namespace reprise::methods
