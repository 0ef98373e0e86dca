// What a method of attention-state reuse decides: where keys and values live and who reads which.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/device/context.h"
#include "core/kv/block_pool.h"
#include "core/kv/plan.h"

namespace reprise::reuse {

using RequestId = int64_t;

enum class Exactness : uint8_t { kExact, kApproximate };

struct MethodInfo {
  std::string name;     // in experiment files and records
  std::string summary;  // one line for `reprise list`
  std::string paper;    // "" for baselines
  Exactness exactness = Exactness::kExact;
};

// What the pool must look like for a method; asked before the engine makes it.
struct PoolNeed {
  int32_t block_tokens = 0;
  int32_t num_blocks = 0;
};

// The limits an engine was made with.
struct EngineLimits {
  int32_t max_batch = 1;            // sequences at once
  int32_t max_sequence_tokens = 0;  // prompt and generated tokens of one sequence
  // Tokens of the prefixes that will be declared (Engine::declare_prefix), which some methods keep
  // beside the sequences.
  int32_t prefix_tokens = 0;
  // Query rows of one step at most. The engine fills it in.
  int32_t step_rows = 0;
};

// What plans are executed with, for methods that weigh costs.
struct PlanSetting {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  DType kv_dtype = DType::kF32;
  Context context;
};

// A sequence that asks for cache.
struct NewSequence {
  RequestId id = 0;
  std::span<const int32_t> tokens;     // the prompt
  std::span<const int32_t> positions;  // [tokens], or empty: 0, 1, 2, ...
  int32_t max_new_tokens = 1;          // to be generated at most
};

struct Admission {
  bool admitted = false;      // false: no room now, ask again when a request has retired
  int32_t reused_tokens = 0;  // tokens of the prompt whose keys and values are there already
};

// One sequence's part in a step: its tokens [first_token, first_token + rows) are query rows
// [first_row, first_row + rows).
struct StepSequence {
  RequestId id = 0;
  int32_t first_row = 0;
  int32_t rows = 0;
  int32_t first_token = 0;
  // Of the whole sequence as it stands: the prompt and what was generated, those of this step
  // included.
  std::span<const int32_t> positions;
  std::span<const int32_t> tokens;
};

using StepBatch = std::span<const StepSequence>;

// Called with name, value, unit.
using MetricSink = std::function<void(std::string_view, double, std::string_view)>;

class ReuseMethod {
 public:
  virtual ~ReuseMethod() = default;
  [[nodiscard]] virtual MethodInfo info() const = 0;
  [[nodiscard]] virtual PoolNeed pool_need(const EngineLimits& limits) const = 0;
  // Called once, before the first request.
  virtual void tune(const PlanSetting& /*setting*/) {}
  // Finds or reserves cache for a request. Called by the scheduler's thread.
  virtual Admission admit(const NewSequence& sequence, kv::BlockPool& pool) = 0;
  // A prefix that many requests will start with, announced before they come. True: compute it now,
  // as a request of this id, which is admitted and stepped like any other; what retire(id) then
  // leaves in the pool is the method's to keep. False: the method finds shared prefixes by itself,
  // or shares nothing.
  virtual bool wants_prefix(RequestId /*id*/, std::span<const int32_t> /*tokens*/) { return false; }
  // Rows of a step lie in the order of this, those of equal rank in the order of admission: a
  // method whose work items need neighbouring rows ranks the sequences that share a segment side by
  // side.
  [[nodiscard]] virtual int64_t row_rank(RequestId /*id*/) const { return 0; }
  // Tokens at the head of the sequence, of its `tokens` so far, that the next step need not
  // compute. The default serves every method that keeps what it computed; `recompute` answers 0.
  [[nodiscard]] virtual int32_t cached_tokens(RequestId id, int32_t tokens) const = 0;
  // Takes the cache that the step's rows will be written to. Called before each plan(); again for
  // the same rows where a step failed.
  virtual void reserve(StepBatch /*batch*/, kv::BlockPool& /*pool*/) {}
  // Writes this step's segments, items, positions and slots and finishes the plan. `out` is reused
  // from step to step: clear it first, or advance it where `out.revision` says that it is the
  // method's own latest one.
  virtual void plan(StepBatch batch, const kv::BlockPool& pool, kv::AttentionPlan& out) = 0;
  // The keys and values of the step's rows are in the cache. Not called for a step that failed.
  virtual void computed(StepBatch /*batch*/, kv::BlockPool& /*pool*/) {}
  virtual void retire(RequestId id,
                      kv::BlockPool& pool) = 0;           // gives back every block it still holds
  virtual void report(const MetricSink& sink) const = 0;  // e.g. "reused_tokens", "shared_kv_bytes"
};

}  // namespace reprise::reuse
