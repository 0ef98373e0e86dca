// Operators: ways to compute the decode steps of an AttentionProblem. An operator is prepared
// first, then run and timed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device/context.h"
#include "core/reuse/sequence_cache.h"
#include "experiments/kinds/attention/attention_problem.h"
#include "experiments/kinds/attention/exact_attention.h"
#include "experiments/kinds/attention/token_values.h"
#include "methods/method.h"

namespace reprise::experiments {

// A part of the step that can be run alone, any number of times.
struct OperatorPart {
  std::string metric;  // name of the metric for its time, e.g. "shared_us"
  std::function<void()> run;
  bool is_whole = false;  // run() does the same work as attend()
};

// An operator is made with the keys and values of all prompts in its cache. The first advance()
// gives each sequence its first generated token.
class AttentionOperator {
 public:
  virtual ~AttentionOperator() = default;

  // Adds a token to each sequence, with its key and value in the cache.
  virtual void advance() = 0;
  // Untimed work of a step that must be done before the calls below.
  virtual void settle() {}
  // Writes the keys and values of the newest tokens, as each step of a model does.
  virtual void append() = 0;
  // Computes attention for the newest token of each sequence.
  virtual void attend() = 0;
  // Reads the output of attend(), sequence after sequence: [batch, heads * head_dim].
  virtual void read_output(std::span<float> out) = 0;

  // The parts of attend(), to be run one by one after an attend(); may be empty.
  [[nodiscard]] virtual std::vector<OperatorPart> parts() { return {}; }
  // Returns a function that reads the same keys and values as attend() in the same way, but
  // computes nothing; or an empty function if the operator has none.
  [[nodiscard]] virtual std::function<void()> stream() { return {}; }
  // Bytes of keys and values that attend() reads.
  [[nodiscard]] virtual double kv_bytes_read() const = 0;
  [[nodiscard]] virtual int64_t kv_peak_bytes() const = 0;
  [[nodiscard]] virtual methods::Exactness exactness() const { return methods::Exactness::kExact; }
  // The roundings of the operator's arithmetic. They bound the error that its outputs may have.
  [[nodiscard]] virtual Rounding rounding() const = 0;
  // Reports the method's own counts to `sink`. resolved() returns the layout of the method's cache.
  virtual void report(const reuse::MetricSink& sink) const = 0;
  [[nodiscard]] virtual Fields resolved() const = 0;
};

// The least bytes that the caches of the group's methods take. A device other than the CPU gives
// each pool all its memory when the pool is made, so all pools are counted whole. On the CPU, pages
// that were never used take no memory: the largest pool is counted whole, and each other pool by
// its distinct tokens. The libtorch baselines share one cache, which has every token of every
// sequence.
[[nodiscard]] double least_cache_bytes(const std::vector<MethodChoice>& methods,
                                       const AttentionProblem& problem, Device device);

// Makes an operator for each method. `values` must outlive the operators. Throws Error for an
// unknown method or option, if a cache does not fit into memory or has no room for a sequence, and
// if a torch baseline is listed but libtorch is missing.
std::vector<std::unique_ptr<AttentionOperator>> make_operators(
    const std::vector<MethodChoice>& methods, const AttentionProblem& problem,
    const TokenValues& values, const Context& context);

}  // namespace reprise::experiments
