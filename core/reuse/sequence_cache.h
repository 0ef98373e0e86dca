// The interface of attention-state reuse methods: where KV states are stored and which rows read
// them.
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

// The size of the pool that a cache needs. The engine asks for it before it makes the pool.
struct PoolNeed {
  int32_t block_tokens = 0;
  int32_t num_blocks = 0;
};

// The limits that an engine was made with.
struct EngineLimits {
  int32_t max_batch = 1;            // sequences at a time
  int32_t max_sequence_tokens = 0;  // prompt and generated tokens of one sequence
  // Total tokens of the prefixes that will be declared (Engine::declare_prefix), which some methods
  // store beside the sequences, and the number of these prefixes.
  int32_t prefix_tokens = 0;
  int32_t prefixes = 1;
};

// The shapes, dtype and context with which plans are executed, for methods that estimate costs.
struct PlanSetting {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  DType kv_dtype = DType::kF32;
  Context context;
};

// Stands for a token whose KV states depend on more than the tokens before it, because it reads
// imported modules. It equals no token, not even itself.
inline constexpr int32_t kPrivateToken = -1;

// A sequence for which the scheduler asks for cache.
struct NewSequence {
  RequestId id = 0;
  // The prompt and, after a preemption, the tokens generated so far. Methods compare them with
  // those of other sequences; some may be kPrivateToken.
  std::span<const int32_t> tokens;
  std::span<const int32_t> positions;  // [tokens], or empty: 0, 1, 2, ...
  int32_t max_new_tokens = 1;          // the most tokens it will still generate
  int32_t spare_blocks = 0;            // blocks to leave free for running sequences
  // At most this many leading tokens are reused; the others are computed again, because the caller
  // wants their logits.
  int32_t most_reused_tokens = std::numeric_limits<int32_t>::max();
};

struct Admission {
  bool admitted = false;      // false: no room now; ask again in a later step
  int32_t reused_tokens = 0;  // leading tokens that need not be computed; never the last one
};

// The prefixes that admit() promises to reuse; engines and tests check the promise.
struct ReusePromise {
  bool declared = false;  // a kept declared prefix that the prompt begins with, except the prompt's
                          // last token
  bool found = false;     // leading tokens that other sequences have computed and that are cached
};

// One sequence's part of a step: its tokens [first_token, first_token + rows) are the query rows
// [first_row, first_row + rows).
struct StepSequence {
  RequestId id = 0;
  int32_t first_row = 0;
  int32_t rows = 0;
  int32_t first_token = 0;
  // Positions and tokens of the whole sequence, including those of this step. Tokens as in
  // NewSequence.
  std::span<const int32_t> positions;
  std::span<const int32_t> tokens;
  int32_t length = 0;           // the largest position + 1
  bool is_consecutive = false;  // true: each position is the previous one plus 1
};

using StepBatch = std::span<const StepSequence>;

// Called with the metric's name, value and unit.
using MetricSink = std::function<void(std::string_view, double, std::string_view)>;

// Adds reads to the plans of a method that does not know about them, such as modules that some
// requests of a batch import.
class PlanContributor {
 public:
  virtual ~PlanContributor() = default;
  // Appends segments and items after the method's. Must not change rows, row slots or what others
  // appended.
  virtual void append(StepBatch batch, kv::AttentionPlan& plan) = 0;
  // True if the segments and items that this contributor appended last also serve this step, given
  // that the step has the same sequences in the same rows, each one token further.
  [[nodiscard]] virtual bool goes_on(StepBatch /*batch*/) const { return false; }
};

// The memory of a declared prefix, and how many sequences use it.
struct PrefixUse {
  int32_t blocks = 0;
  int32_t users = 0;  // sequences that begin with it now
};

// Keeps declared prefixes. A cache that is no PrefixKeeper finds shared prefixes by itself, or
// shares none.
class PrefixKeeper {
 public:
  virtual ~PrefixKeeper() = default;
  // Declares a prefix that many requests will begin with. The caller computes it as a sequence of
  // this id, admitted and stepped like any other, then calls keep_prefix(id). Throws Error if no
  // more can be kept.
  virtual void declare_prefix(RequestId id, std::span<const int32_t> tokens) = 0;
  // Ends the computed sequence `id` and keeps its cache as a prefix.
  virtual void keep_prefix(RequestId id, kv::BlockPool& pool) = 0;
  // Forgets the prefix, kept or not; its sequence must not be running. Blocks that sequences still
  // use stay until the last of them retires.
  virtual void drop_prefix(RequestId id, kv::BlockPool& pool) = 0;
  [[nodiscard]] virtual PrefixUse prefix_use(RequestId id) const = 0;
};

// Reports the places of states in the pool, so that a preempted sequence's states can be copied out
// and back (swapping). Sequences of a cache that is not relocatable are computed again.
class Relocatable {
 public:
  virtual ~Relocatable() = default;
  // Appends to `runs` the places in the pool of the sequence's tokens [first_token, end_token), all
  // of which have cache. Sets is_computed of runs whose states are known to be computed.
  virtual void locate(RequestId id, int32_t first_token, int32_t end_token,
                      const kv::BlockPool& pool, std::vector<kv::TokenRun>& runs) const = 0;
  // Leading tokens that would stay cached if the sequence retired now, because other sequences use
  // them too; admit() reuses them as long as one of these sequences remains.
  [[nodiscard]] virtual int32_t lasting_tokens(RequestId /*id*/) const { return 0; }
  // Called when the states of the sequence's tokens [first_token, end_token) have been written to
  // the places that locate() gave. The sequence was just admitted, and all tokens before these are
  // computed.
  virtual void restored(RequestId /*id*/, int32_t /*first_token*/, int32_t /*end_token*/) {}
};

class SequenceCache {
 public:
  virtual ~SequenceCache() = default;
  // A pool of this size serves `limits` without preemptions; a smaller one works with preemptions.
  [[nodiscard]] virtual PoolNeed pool_need(const EngineLimits& limits) const = 0;
  [[nodiscard]] virtual ReusePromise promise() const { return {}; }
  // Called once, before the first request.
  virtual void tune(const PlanSetting& /*setting*/) {}

  // ---- Optional interfaces of the cache; null if it lacks one. The answer never changes. ----

  [[nodiscard]] virtual PrefixKeeper* prefix_keeper() { return nullptr; }
  [[nodiscard]] virtual Relocatable* relocatable() { return nullptr; }

  // The reason why the cache cannot serve a batch-invariant engine (Context::is_batch_invariant):
  // in such an engine, one work item must read all keys of a row's sequence for that row, whatever
  // other sequences read. "" if the cache can serve it.
  [[nodiscard]] virtual std::string why_not_batch_invariant() const { return ""; }

  // ---- Sequences. All calls come from the scheduler's thread. ----

  // Finds or takes cache for the tokens that a sequence has so far; reserve() takes cache for the
  // tokens that it generates later. Throws Error if the id is in use.
  virtual Admission admit(const NewSequence& sequence, kv::BlockPool& pool) = 0;
  // Leading tokens that admit() would reuse for the sequence now, for policies that order the queue
  // by the tokens left to compute. 0 if the method does not know.
  [[nodiscard]] virtual int32_t tokens_in_cache(const NewSequence& /*sequence*/) const { return 0; }
  // Ends a sequence, finished or not, and releases every block that only it holds.
  virtual void retire(RequestId id, kv::BlockPool& pool) = 0;
  // Number of blocks with the sequence's tokens, shared ones included.
  [[nodiscard]] virtual int32_t held_blocks(RequestId id) const = 0;

  // ---- Steps ----

  // Rows of a step are sorted by rank, equal ranks by admission. A method whose work items need
  // neighbouring rows gives neighbouring ranks to sequences that share a segment.
  [[nodiscard]] virtual int64_t row_rank(RequestId /*id*/) const { return 0; }
  // Leading tokens, among the sequence's `tokens` tokens so far, that the next step need not
  // compute: all of them for a method that keeps the KV states, 0 for one that keeps none.
  [[nodiscard]] virtual int32_t cached_tokens(RequestId id, int32_t tokens) const = 0;
  // Takes the cache for the step's rows. Called before each plan, and again for the same rows if a
  // step failed. Returns false if blocks are missing: the step is composed anew after sequences
  // have released some.
  [[nodiscard]] virtual bool reserve(StepBatch /*batch*/, kv::BlockPool& /*pool*/) { return true; }
  // Returns true if `plan` is the method's last plan and has been updated for this batch, rows
  // included. If false, the plan is built anew, whatever this call changed in it.
  [[nodiscard]] virtual bool advance(StepBatch /*batch*/, const kv::BlockPool& /*pool*/,
                                     kv::AttentionPlan& /*plan*/) {
    return false;
  }
  // Sets the row slots of the step's rows, which are in `plan` with positions and lengths, and
  // appends the segments and items by which they read. A row without a slot is not stored. See
  // write_plan().
  virtual void plan(StepBatch batch, const kv::BlockPool& pool, kv::AttentionPlan& plan) = 0;
  // Called when the KV states of the step's rows are in the cache, but not for a step that failed.
  virtual void computed(StepBatch /*batch*/, kv::BlockPool& /*pool*/) {}

  virtual void report(const MetricSink& sink) const = 0;  // e.g. "reused_tokens", "shared_kv_bytes"
};

}  // namespace reprise::reuse
