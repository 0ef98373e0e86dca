// A method of attention-state reuse, as users name it. An engine uses its parts: a cache with plan
// contributors, a layer policy and a request shaper. Each part is optional.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/look.h"
#include "core/base/metric_info.h"
#include "core/base/value.h"
#include "core/device/context.h"
#include "core/engine/request_shaper.h"
#include "core/model/config/config.h"
#include "core/model/network/layer_policy.h"
#include "core/reuse/options.h"
#include "core/reuse/sequence_cache.h"

namespace reprise {
class DeviceRuntime;
class Tokenizer;
}  // namespace reprise

namespace reprise::model {
class Decoder;
}

namespace reprise::methods {

enum class Exactness : uint8_t { kExact, kApproximate };

// A method's name, and the uses that it supports. Tables, figures, `reprise list` and error
// messages print these texts.
struct MethodInfo {
  std::string name;     // in experiment files and records
  std::string summary;  // one line for `reprise list`
  std::string paper;    // "" for baselines
  Exactness exactness = Exactness::kExact;
  Look look;
  // True if the method is a cache and nothing else, so that its plans can be compared without a
  // model.
  bool is_cache = false;
  // True if the method is a layer policy and nothing else, so that it may run beside another policy
  // that has an option for this.
  bool is_policy = false;
  // True if the method's policy skips layers. A policy beside it is not asked about these layers.
  bool skips_layers = false;
  // Reasons why the method cannot generate, and why it cannot run in kinds "prefill" and
  // "sentences" and `reprise embed`, which compute prompts and generate nothing. Each ends a
  // sentence that begins "method NAME does not run here: "; "" if the method can.
  std::string cannot_generate;
  std::string cannot_prefill;
  std::vector<MetricInfo> metrics;       // of report(), except those that kinds list
  std::vector<MetricInfo> turn_parts;    // parts of a turn that TurnCounts may have
  std::vector<MetricInfo> turn_metrics;  // of report(), where begin_turn() is called
  // True if prepare() stores the prompts of a setup, or learns from them.
  bool uses_prompts = false;
  // True if read() reads prompts in the method's own markup, derived from a schema (Markup).
  bool reads_markup = false;
};

// Tokens that many prompts begin with, cut into consecutive pieces, none of them empty. A method
// may cache each piece separately.
using Prefix = std::vector<std::vector<int32_t>>;

// The schema, and the facts about the model, by which a method reads prompts with markup. Such
// prompts are derived from the schema.
struct Markup {
  std::string schema;         // path of the schema file
  std::string model;          // folder or shipped shape; its chat template and positions count
  std::string chat_template;  // "": the model's own
  // True if the model has random weights. Such weights prefer no position, so a schema may be
  // longer than the model's number of positions.
  bool has_random_weights = false;
  bool is_lenient = false;               // of schema and prompts; see pml::with_strays_as_text()
  const Tokenizer* tokenizer = nullptr;  // not null; outlives the method
};

// How a method will be used, as far as this is known before weights are loaded.
struct Use {
  Device device = Device::kCpu;
  std::span<const Prefix> prefixes;  // prefixes that prompts may begin with
  bool always_has_prefix = false;    // every prompt begins with one of `prefixes`
  // Texts, none of them empty, that prompts may begin with: each at most once, in any order. The
  // prompt's own tokens follow them.
  std::span<const std::vector<int32_t>> modules = {};
  const Markup* markup = nullptr;  // null: all prompts are plain tokens
  bool has_model = true;           // false: steps are modelled, and nothing can be computed
  // True if nothing is generated and a step may compute several whole prompts.
  bool batches_prompts = false;
  // True if Method::begin_turn() is called before each measured request.
  bool has_turns = false;
  // Most requests that are under way at once. Each may hold states of its own from when it is sent.
  int64_t requests = 1;
};

// Results of long preparations, kept so that a sweep, which prepares the same method at each point,
// computes them once. The key is a text with everything that a result depends on except the model.
using Keepsakes = std::map<std::string, std::any>;

// The model that a method prepares itself for, and the prompts that it may store or learn from.
struct Setup {
  // Computes one whole prompt in a step of its own and returns its sentence vector, or the logits
  // of its choices. `policy` decides what each layer does; null: every layer computes.
  using Run =
      std::function<std::vector<float>(std::span<const int32_t> ids, model::LayerPolicy* policy)>;

  Context context;                         // CPU context for the method's own computations
  std::shared_ptr<DeviceRuntime> runtime;  // the model's device; null: the CPU
  const model::ModelConfig& config;
  std::string model;  // identifies the model, its weights and their format
  uint64_t seed = 1;
  Run run;
  // `database` has prompts to store, `training` other prompts to learn from. Neither has prompts
  // that will be measured, unless an experiment stores these on purpose.
  std::span<const std::vector<int32_t>> database, training;
  // The engine's decoder, KV dtype and step size, for methods that compute keys and values before
  // the first request. The decoder is null if nothing is generated or `use` has no model.
  model::Decoder* decoder = nullptr;
  DType kv_dtype = DType::kF32;
  int32_t step_tokens = 512;
  Use use = {};
  // Called between pieces of a long preparation that does not call `run`, such as batches of
  // training or steps over a schema's modules. May throw, which ends prepare(). Empty: nothing is
  // called.
  std::function<void()> between = {};
  Keepsakes* kept = nullptr;  // null: nothing is kept
  // Numbers of special tokens at the start and at the end of each prompt. A method that cuts
  // prompts keeps them.
  int64_t special_before = 0, special_after = 0;
  // Number of other tokens that all prompts have in common: those of the words around each text.
  int64_t common_tokens = 0;

  // The prompts by which a method chooses layers: `training`, or `database` if `training` is empty.
  [[nodiscard]] std::span<const std::vector<int32_t>> calibration() const {
    return training.empty() ? database : training;
  }
};

// The parts of a method that an engine uses. They keep alive the method's data that they use, so
// the method may end before them.
struct Parts {
  // Decides where keys and values lie and which rows read them. Null: the contiguous cache is used.
  std::unique_ptr<reuse::SequenceCache> cache;
  std::vector<std::shared_ptr<reuse::PlanContributor>> contributors;
  std::shared_ptr<model::LayerPolicy> policy;     // null: every layer computes
  std::shared_ptr<engine::RequestShaper> shaper;  // null: requests stay as they are
  // Name of the method (MethodInfo::is_cache) whose cache join() makes if `cache` is null; "": the
  // contiguous cache.
  std::string cache_name;
  // Number of tokens that every sequence imports, so that the cache needs no room for these tokens.
  int32_t spared_tokens = 0;
};

// Time within a turn that the method itself took, e.g. for its lookups.
struct TurnPart {
  const MetricInfo* metric;  // in ms; one of MethodInfo::turn_parts
  double ms = 0;
};

// Counts since begin_turn(), and the times that the method itself took.
struct TurnCounts {
  int64_t reused_layers = 0;  // (prompt, layer) pairs that were computed with stored maps
  std::vector<TurnPart> parts;
  std::vector<TurnPart> within;  // times that are already included in `parts`

  [[nodiscard]] double parts_ms() const {
    double sum = 0;
    for (const TurnPart& part : parts) sum += part.ms;
    return sum;
  }
};

// Receives a method's report: metrics that MethodInfo::metrics or the experiment's kind lists, and
// settings that the method resolved.
class ReportSink {
 public:
  virtual ~ReportSink() = default;
  virtual void metric(const MetricInfo& metric, double value) = 0;
  virtual void setting(const std::string& name, const Value& value) = 0;
};

class Method {
 public:
  virtual ~Method() = default;
  [[nodiscard]] virtual const MethodInfo& info() const = 0;
  // The reason why this program cannot run the method with its options, and the remedy; "" if it
  // can.
  [[nodiscard]] virtual std::string missing() const { return ""; }
  // Throws Error, with the remedy, if the method cannot run in this use. Loads nothing.
  virtual void check(const Use& /*use*/) const {}
  // Most tokens whose keys and values the method holds in memory at once beside the engine's cache.
  [[nodiscard]] virtual int64_t held_tokens(const Use& /*use*/) const { return 0; }
  // Most bytes of keys and values that the method has held at once beside the engine's cache.
  [[nodiscard]] virtual int64_t peak_held_bytes() const { return 0; }
  // Encodes modules, trains, stores maps. Called once, before parts(). Throws Error, with the
  // remedy, if the setup lacks what the method needs.
  virtual void prepare(const Setup& /*setup*/) {}
  // Called once for each engine.
  [[nodiscard]] virtual Parts parts() = 0;
  // info().exactness, or kExact if this setup makes an approximate method exact.
  [[nodiscard]] virtual Exactness exactness() const { return info().exactness; }
  // Reads a prompt in the method's markup. Returns a request with all tokens of the prompt, their
  // positions, and the markup in which RequestShaper::shape() finds the imports. Returns nullopt if
  // the text is plain. `source` names the text in errors. Throws Error for markup that is wrong.
  // May be called by several threads at once.
  [[nodiscard]] virtual std::optional<engine::Request> read(const std::string& /*text*/,
                                                            const std::string& /*source*/) const {
    return std::nullopt;
  }
  // True if the method looks up each prompt, so that some prompts hit and others miss.
  [[nodiscard]] virtual bool looks_up() const { return false; }
  // Called before each turn, outside of the measured time. Sets counts() to zero, and makes caches
  // as cold as the options say.
  virtual void begin_turn() {}
  [[nodiscard]] virtual TurnCounts counts() const { return {}; }
  virtual void report(ReportSink& /*sink*/) const {}
};

// An entry in the list of methods: info, options, and how to make the method.
struct MethodEntry {
  MethodInfo info;
  // resolve_options and make throw Error naming the option, the value found and the accepted
  // values, or, for an unknown option, the nearest known one.
  std::function<Fields(const JsonObject& given)> resolve_options;
  std::function<std::unique_ptr<Method>(const JsonObject& given)> make;
  std::function<reuse::OptionList()> list_options;
};

// Makes the MethodEntry of a method. `make`(info, options) makes the method itself.
template <reuse::Options Options, typename Make>
MethodEntry method_entry(MethodInfo info, Make make) {
  MethodEntry entry{.info = std::move(info)};
  entry.resolve_options = [](const JsonObject& given) {
    return reuse::options_fields(reuse::read_options<Options>(given));
  };
  entry.make = [info = entry.info, make](const JsonObject& given) -> std::unique_ptr<Method> {
    return make(info, reuse::read_options<Options>(given));
  };
  entry.list_options = reuse::list_options<Options>;
  return entry;
}

}  // namespace reprise::methods
