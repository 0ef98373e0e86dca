// What a method of attention-state reuse decides: where keys and values live and who reads which.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/context.h"
#include "core/kv/block_pool.h"
#include "core/kv/plan.h"
#include "core/kv/token_run.h"

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
  // beside the sequences, and how many prefixes these are.
  int32_t prefix_tokens = 0;
  int32_t prefixes = 1;
};

// What plans are executed with, for methods that weigh costs.
struct PlanSetting {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  DType kv_dtype = DType::kF32;
  Context context;
};

// In the place of a token whose states depend on more than the tokens before it (it reads imported
// modules): equal to no token, not even to itself.
inline constexpr int32_t kPrivateToken = -1;

// A sequence that asks for cache.
struct NewSequence {
  RequestId id = 0;
  // What it has: the prompt and, where it was preempted, what it had generated. Tokens are there to
  // be compared with those of others; some may be kPrivateToken.
  std::span<const int32_t> tokens;
  std::span<const int32_t> positions;  // [tokens], or empty: 0, 1, 2, ...
  int32_t max_new_tokens = 1;          // to be generated from here on, at most
  int32_t spare_blocks = 0;            // to be left free besides, for those that run to grow into
  // What is there beyond them is computed again: somebody wants its logits.
  int32_t most_reused_tokens = std::numeric_limits<int32_t>::max();
};

struct Admission {
  bool admitted = false;      // false: no room now, ask again in a later step
  int32_t reused_tokens = 0;  // leading tokens that need not be computed, at most all but the last
};

// What admissions find in the cache instead of computing it, for those who check that they do.
struct ReusePromise {
  bool declared = false;  // a kept prefix of the prompt, whole (but the prompt's last token)
  bool found = false;     // what other sequences have computed, for as long as it is there
};

// One sequence's part in a step: its tokens [first_token, first_token + rows) are query rows
// [first_row, first_row + rows).
struct StepSequence {
  RequestId id = 0;
  int32_t first_row = 0;
  int32_t rows = 0;
  int32_t first_token = 0;
  // Of the whole sequence as it stands: the prompt and what was generated, those of this step
  // included. Tokens as in NewSequence.
  std::span<const int32_t> positions;
  std::span<const int32_t> tokens;
  int32_t length = 0;           // largest of the positions + 1
  bool is_consecutive = false;  // each position is known to be the one before plus 1
};

using StepBatch = std::span<const StepSequence>;

// Called with name, value, unit.
using MetricSink = std::function<void(std::string_view, double, std::string_view)>;

// Adds to the plans of a method that knows nothing of it: modules that some requests import into a
// batch that shares a system prompt.
class PlanContributor {
 public:
  virtual ~PlanContributor() = default;
  // Appends segments and items after the method's. Rows, their slots and what others appended are
  // not its to change.
  virtual void append(StepBatch batch, kv::AttentionPlan& plan) = 0;
  // Whether what it appended last also serves this step, if that has the same sequences in the same
  // rows, each one token on.
  [[nodiscard]] virtual bool goes_on(StepBatch /*batch*/) const { return false; }
};

// What a declared prefix takes and whom it serves.
struct PrefixUse {
  int32_t blocks = 0;
  int32_t users = 0;  // sequences that begin with it now
};

class ReuseMethod {
 public:
  virtual ~ReuseMethod() = default;
  [[nodiscard]] virtual MethodInfo info() const = 0;
  // A pool of this need serves `limits` without a preemption; a smaller one does with some.
  [[nodiscard]] virtual PoolNeed pool_need(const EngineLimits& limits) const = 0;
  [[nodiscard]] virtual ReusePromise promise() const { return {}; }
  // Called once, before the first request.
  virtual void tune(const PlanSetting& /*setting*/) {}

  // ---- Sequences. All calls come from the scheduler's thread. ----

  // Finds or takes cache for the tokens that a sequence has; what it generates takes its cache in
  // reserve(). Throws Error for an id that is there.
  virtual Admission admit(const NewSequence& sequence, kv::BlockPool& pool) = 0;
  // Leading tokens that admit() would spare a sequence if it were asked now, for policies that
  // order the queue by what is left to compute. 0 also where the method does not say.
  [[nodiscard]] virtual int32_t tokens_in_cache(const NewSequence& /*sequence*/) const { return 0; }
  // Ends a sequence, finished or not, and gives back every block that it alone holds.
  virtual void retire(RequestId id, kv::BlockPool& pool) = 0;
  // Blocks that hold the sequence's tokens, those it shares among them.
  [[nodiscard]] virtual int32_t held_blocks(RequestId id) const = 0;

  // Appends where the sequence's tokens [first_token, end_token) lie in the pool, all of which it
  // has cache for, in order; runs whose states are known to be there say so. False, and nothing is
  // appended, where the method cannot say: its sequences are computed again after a preemption.
  [[nodiscard]] virtual bool locate(RequestId /*id*/, int32_t /*first_token*/,
                                    int32_t /*end_token*/, const kv::BlockPool& /*pool*/,
                                    std::vector<kv::TokenRun>& /*runs*/) const {
    return false;
  }
  // Leading tokens of a sequence that others use too, so that the cache keeps them when it retires
  // now and admit() spares them to it as long as one of the others is there.
  [[nodiscard]] virtual int32_t lasting_tokens(RequestId /*id*/) const { return 0; }
  // The states of tokens [first_token, end_token) of a sequence, which was admitted just before and
  // has all before them computed, have been written to where locate() says.
  virtual void restored(RequestId /*id*/, int32_t /*first_token*/, int32_t /*end_token*/) {}

  // ---- Named prefixes ----

  // A prefix that many requests will start with. True: compute it as a sequence of this id, which
  // is admitted and stepped like any other, and then call keep_prefix(id). False: the method finds
  // shared prefixes by itself, or shares nothing. Throws Error where it can keep no more.
  virtual bool declare_prefix(RequestId /*id*/, std::span<const int32_t> /*tokens*/) {
    return false;
  }
  // The sequence is computed: ends it and keeps its cache as the prefix.
  virtual void keep_prefix(RequestId /*id*/, kv::BlockPool& /*pool*/) {}
  // Forgets the prefix, kept or not; its sequence does not run. What sequences still use stays
  // until the last of them retires.
  virtual void drop_prefix(RequestId /*id*/, kv::BlockPool& /*pool*/) {}
  [[nodiscard]] virtual PrefixUse prefix_use(RequestId /*id*/) const { return {}; }

  // ---- Steps ----

  // Rows of a step lie in the order of this, those of equal rank in the order of admission: a
  // method whose work items need neighbouring rows ranks the sequences that share a segment side by
  // side.
  [[nodiscard]] virtual int64_t row_rank(RequestId /*id*/) const { return 0; }
  // Tokens at the head of the sequence, of its `tokens` so far, that the next step need not
  // compute: all of them for a method that keeps what it computed, 0 for `recompute`.
  [[nodiscard]] virtual int32_t cached_tokens(RequestId id, int32_t tokens) const = 0;
  // Takes the cache that the step's rows will be written to. Called before each plan; again for the
  // same rows where a step failed. False: blocks are missing; the step is composed anew when
  // sequences have given some back.
  [[nodiscard]] virtual bool reserve(StepBatch /*batch*/, kv::BlockPool& /*pool*/) { return true; }
  // True where `plan` is the method's latest and goes on with this batch: it has been brought to
  // it, rows included. False: it is written anew, whatever this left in it.
  [[nodiscard]] virtual bool advance(StepBatch /*batch*/, const kv::BlockPool& /*pool*/,
                                     kv::AttentionPlan& /*plan*/) {
    return false;
  }
  // Names the slots of the step's rows, which are in `plan` with positions and lengths, and appends
  // the segments and items by which they read. A row left without a slot is not stored. See
  // write_plan().
  virtual void plan(StepBatch batch, const kv::BlockPool& pool, kv::AttentionPlan& plan) = 0;
  // The keys and values of the step's rows are in the cache. Not called for a step that failed.
  virtual void computed(StepBatch /*batch*/, kv::BlockPool& /*pool*/) {}

  virtual void report(const MetricSink& sink) const = 0;  // e.g. "reused_tokens", "shared_kv_bytes"
};

}  // namespace reprise::reuse
