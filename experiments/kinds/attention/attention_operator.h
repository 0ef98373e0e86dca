// One way to compute the decode steps of an AttentionProblem, prepared once and then run and timed.
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

// A piece of the step that can be run by itself; running it again changes nothing.
struct OperatorPart {
  std::string metric;  // that its time becomes: "shared_us"
  std::function<void()> run;
  bool is_whole = false;  // what attend() does, and nothing else
};

// Made with the keys and values of all prompts in its cache. The first advance() gives each
// sequence its first generated token.
class AttentionOperator {
 public:
  virtual ~AttentionOperator() = default;

  // One more token for each sequence, with its key and value in the cache.
  virtual void advance() = 0;
  // What else a step takes before anything below is called, and is not timed.
  virtual void settle() {}
  // Writes the keys and values of the newest tokens, as each step of a model does before it reads.
  virtual void append() = 0;
  // Attention of the newest token of each sequence.
  virtual void attend() = 0;
  // What attend() wrote, sequence after sequence: [batch, heads * head_dim].
  virtual void read_output(std::span<float> out) = 0;

  // What attend() is made of, to be run one by one after an attend(); may be empty.
  [[nodiscard]] virtual std::vector<OperatorPart> parts() { return {}; }
  // Reads the keys and values of an attend() as it does and computes nothing; may be empty.
  [[nodiscard]] virtual std::function<void()> stream() { return {}; }
  // Bytes of keys and values that attend() reads.
  [[nodiscard]] virtual double kv_bytes_read() const = 0;
  [[nodiscard]] virtual int64_t kv_peak_bytes() const = 0;
  [[nodiscard]] virtual methods::Exactness exactness() const { return methods::Exactness::kExact; }
  // What its arithmetic rounds, to judge its outputs by.
  [[nodiscard]] virtual Rounding rounding() const = 0;
  // What it counts itself, and how its cache is laid out.
  virtual void report(const reuse::MetricSink& sink) const = 0;
  [[nodiscard]] virtual Json resolved() const = 0;
};

// Bytes that the caches of the group's methods take at least: each plan's holds the distinct
// tokens, and the system has to grant the largest as a whole, another device than the CPU each of
// them; those of libtorch have one that holds every token of every sequence.
[[nodiscard]] double least_cache_bytes(const std::vector<MethodChoice>& methods,
                                       const AttentionProblem& problem, Device device);

// An operator for each method. `values` must outlive them. Throws Error for an unknown method or
// option, where a cache does not fit into memory or refuses a sequence, and where libtorch is
// missing.
std::vector<std::unique_ptr<AttentionOperator>> make_operators(
    const std::vector<MethodChoice>& methods, const AttentionProblem& problem,
    const TokenValues& values, const Context& context);

}  // namespace reprise::experiments
