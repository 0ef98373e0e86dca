// One way to compute the decode steps of an AttentionProblem, prepared once and then run and timed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/threads.h"
#include "core/engine/reuse_method.h"
#include "experiments/attention_problem.h"
#include "experiments/token_values.h"

namespace reprise::experiments {

// A piece of the step that can be run by itself; running it again changes nothing.
struct OperatorPart {
  std::string metric;  // that its time becomes: "shared_us"
  std::function<void()> run;
};

// Made with the keys and values of all prompts in its cache. The first advance() gives each
// sequence its first generated token.
class AttentionOperator {
 public:
  virtual ~AttentionOperator() = default;

  // One more token for each sequence, with its key and value in the cache.
  virtual void advance() = 0;
  // Writes the keys and values of the newest tokens, as each step of a model does before it reads.
  virtual void append() = 0;
  // Attention of the newest token of each sequence.
  virtual void attend() = 0;
  // What attend() wrote, sequence after sequence: [batch, heads * head_dim].
  virtual void read_output(std::span<float> out) = 0;

  // What attend() is made of, to be run one by one after an attend(); may be empty.
  [[nodiscard]] virtual std::vector<OperatorPart> parts() { return {}; }
  // Bytes of keys and values that attend() reads.
  [[nodiscard]] virtual double kv_bytes_read() const = 0;
  [[nodiscard]] virtual int64_t kv_peak_bytes() const = 0;
  [[nodiscard]] virtual engine::Exactness exactness() const { return engine::Exactness::kExact; }
  // What it counts itself, and how its cache is laid out.
  virtual void report(const engine::MetricSink& sink) const = 0;
  [[nodiscard]] virtual Json resolved() const = 0;
};

// Bytes that the caches of the group's methods take at least: each holds the distinct tokens, and
// the system has to grant the largest as a whole.
[[nodiscard]] double least_cache_bytes(const std::vector<MethodChoice>& methods,
                                       const AttentionProblem& problem);

// The operator of a method. `values` must outlive it. Throws Error for an unknown method or option,
// and where its cache does not fit into memory or refuses a sequence.
std::unique_ptr<AttentionOperator> make_operator(const MethodChoice& method,
                                                 const AttentionProblem& problem,
                                                 const TokenValues& values, const Context& context);

}  // namespace reprise::experiments
