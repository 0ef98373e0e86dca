// The bench that several kinds share. It holds one loaded model at a time, makes the prompts of any
// workload, and runs timed requests.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/steady_now.h"
#include "core/device/context.h"
#include "core/engine/engine.h"
#include "core/model/network/decoder.h"
#include "experiments/framework/kind.h"
#include "experiments/framework/shared_info.h"
#include "experiments/kinds/shared/places.h"
#include "methods/method.h"
#include "workloads/workload.h"

namespace reprise::experiments {

// The steady clock in nanoseconds. Engines of a bench use it too, so that times can be compared.
int64_t now_ns();

class Bench {
 public:
  // With `has_turns`, the kind calls Method::begin_turn() before each measured request.
  explicit Bench(const Context& context, bool has_turns = false)
      : context_(context), has_turns_(has_turns) {}

  [[nodiscard]] const Context& context() const { return context_; }
  // Throws Error with all faults of the group that can be found before weights are loaded: faults
  // of its model and checkpoint, dtypes, methods, workload and prompts.
  void check(const Group& group, const RequestAxes& axes);
  // Returns the config that the group's decoder would have. Throws Error if the model cannot be
  // loaded on the context's device, because of the model's dtype, its shape or the headers of its
  // checkpoint.
  static model::ModelConfig check_loadable(const Group& group, const Context& context);
  // The part of check() that concerns the model: throws Error unless the model can be loaded and
  // can generate. Reads the headers of a checkpoint only once, even if many groups use it.
  void check_model(const Group& group);
  // Uses the machine's calibration for decoders and engines that are made after this call.
  void use_calibration(const Machine& machine);
  // Decoders and engines that are made after this call record their operations on the CPU in `log`,
  // which must outlive the bench.
  void record_operations(OperationLog& log);
  // The model's shape by its config.json alone. Whether the model has a head also depends on its
  // checkpoint, see check_loadable().
  [[nodiscard]] static model::ModelConfig config(const Group& group);
  // The group's decoder. If another decoder is loaded, that one is freed first.
  model::Decoder& decoder(const Group& group);
  // Names the group's model and the way its weights are made and held.
  [[nodiscard]] static std::string held_model(const Group& group);
  // One method with its engine, ready for requests.
  struct Lane {
    std::unique_ptr<methods::Method> method = {};
    std::unique_ptr<engine::Engine> engine = {};
    // Time to declare the prefix. Includes preparing the method if the method imports prefixes.
    double prefix_ms = 0;
  };
  // Makes an engine for each method of the group, so that the methods can take turns at requests
  // with the group's prompts. Each engine has room for `max_batch` sequences and knows the group's
  // declared prefix. Begins the count of peak memory. Throws Interrupted if `stop` is raised.
  std::vector<Lane> make_lanes(const Group& group, const RequestAxes& axes, int64_t max_batch,
                               const std::atomic<bool>& stop);
  // Makes one lane, for a method of the group or another one.
  Lane make_lane(const Group& group, const RequestAxes& axes, const MethodChoice& method,
                 int64_t max_batch);
  // The engine of a prepared method. It computes waiting prompts before it takes decode steps, so
  // that decode steps can be measured by themselves. limits.max_sequence_tokens bounds a sequence's
  // prompt and generated tokens together.
  std::unique_ptr<engine::Engine> make_engine(const Group& group, const StepAxes& axes,
                                              methods::Method& method,
                                              const reuse::EngineLimits& limits);
  // The setup of one of the group's methods, with has_turns as the kind says. The objects that
  // `use` points at must outlive it.
  methods::Setup setup_of(const Group& group, const StepAxes& axes, const methods::Use& use);
  // Returns the axes.shared_tokens tokens with which every prompt of the group begins, drawn by the
  // seed of the prompts.
  std::vector<int32_t> prefix(const Group& group, const PromptAxes& axes);
  // Returns the prompt of request `request`, the same for every method: the prefix, then tokens
  // that the workload draws for this request, axes.prompt_tokens in all. The workload is kept until
  // another model, workload or seed is asked for.
  std::vector<int32_t> prompt(const Group& group, const PromptAxes& axes, int64_t request);
  // Declares the group's prefix, if it has any, and returns the time in milliseconds: almost 0 for
  // a method that does not keep declared prefixes.
  double declare_prefix(engine::Engine& engine, const Group& group, const PromptAxes& axes);

 private:
  // Draws `tokens` tokens of item `item` of the workload.
  std::vector<int32_t> draw(const Group& group, int64_t item, int64_t tokens);
  workloads::Workload& workload(const Group& group);
  // Calls `step` at the first call with this `what`, and keeps its error. Further calls with the
  // same `what` throw that error again without calling `step`.
  void check_once(const std::string& what, const std::function<void()>& step);

  Context context_;
  bool has_turns_;
  std::string loaded_;  // held_model() of decoder_
  std::unique_ptr<model::Decoder> decoder_;
  std::string drawn_from_;  // identifies the model, workload and seed of workload_
  std::unique_ptr<workloads::Workload> workload_;
  std::map<std::string, std::string> checked_;  // names of checks, and their errors or ""
};

// Throws Error for impossible prompts: a prefix longer than the prompt, or more tokens than a
// trained model can place.
void check_prompts(const Group& group, const RequestAxes& axes);

// Memory of the model's weights and of the methods' key/value states. A method's states are a cache
// for `sequences` sequences. If a method holds shared tokens once outside its cache, they are
// counted there and left out of the cache. Sums over the methods if they take turns, otherwise
// takes the largest. Methods that find shared tokens by themselves need less.
MemoryNeed memory_of_prompts(const Group& group, const RequestAxes& axes, int64_t sequences,
                             bool take_turns);

// A request with the group's sampling: greedy, and never stopped early.
engine::Request make_request(const Group& group, int64_t id, std::vector<int32_t> prompt,
                             int64_t new_tokens);

// Returns the hash and the number of the tokens that method `index` generated, and how far they
// agree, token by token, with the tokens of the group's first method.
Fields answers_of(const Group& group, size_t index,
                  const std::vector<std::vector<int32_t>>& tokens_of_methods);

// Returns measure_one(m) for each method m, with answers_of() added unless samples[m].tokens, the
// tokens that method m generated, are empty.
template <typename Samples, typename MeasureOne>
std::vector<Measurement> measurements_of(const Group& group, const std::vector<Samples>& samples,
                                         MeasureOne&& measure_one) {
  std::vector<std::vector<int32_t>> tokens;
  for (const Samples& of_method : samples) tokens.push_back(of_method.tokens);
  std::vector<Measurement> measurements;
  for (size_t m = 0; m < samples.size(); ++m) {
    measurements.push_back(measure_one(m));
    if (!tokens[m].empty()) measurements.back().answers = answers_of(group, m, tokens);
  }
  return measurements;
}

// Returns metrics: the method's counts such as "reused_tokens", the peak size of its cache, and the
// sum of the prompt tokens of all `requests` submitted requests.
results::Metrics method_metrics(engine::Engine& engine, const PromptAxes& axes, int64_t requests);
// True if the engine's method computed its prefixes before the engine was made.
[[nodiscard]] bool imports_prefixes(const engine::Engine& engine);
// Adds the metrics and settings that the method itself reports.
void add_report(const methods::Method& method, Measurement& out);

// Settings as the engine resolved them, with the model's shape.
Fields resolved_settings(engine::Engine& engine, const model::Decoder& decoder,
                         methods::Exactness exactness);
// Like resolved_settings() above, but for a model whose weights need not be loaded.
Fields resolved_settings(engine::Engine& engine, const model::ModelConfig& config,
                         int64_t weight_bytes, methods::Exactness exactness);
// Peak bytes of the engine's cache, of the program's buffers and of the process.
std::map<std::string, int64_t> memory_of(const engine::Engine& engine);

}  // namespace reprise::experiments
