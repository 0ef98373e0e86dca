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

// The size of the block pool that a cache needs. The engine asks for it before it allocates the
// pool.
struct PoolNeed {
  int32_t block_tokens = 0;
  int64_t num_blocks = 0;  // may be more than a pool can have
};

// The limits that an engine was made with.
struct EngineLimits {
  int32_t max_batch = 1;  // sequences that run at the same time
  // Upper bound on the prompt and generated tokens of one sequence.
  int32_t max_sequence_tokens = 0;
  // Total tokens of the prefixes that will be declared (Engine::declare_prefix), and the number of
  // these prefixes. Some methods store prefixes in addition to the sequences.
  int32_t prefix_tokens = 0;
  int32_t prefixes = 1;
};

// The shapes, dtype and context with which plans are executed, for methods that estimate costs.
struct PlanSetting {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  DType kv_dtype = DType::kF32;
  Context context;
};

// Stands for a token whose KV states depend on more than the preceding tokens, because it also
// reads imported modules. It equals no token, not even itself.
inline constexpr int32_t kPrivateToken = -1;

// A sequence for which the engine asks the cache for room.
struct NewSequence {
  RequestId id = 0;
  // The prompt and, after a preemption, the tokens generated so far. Methods compare them with
  // tokens of other sequences. Some may be kPrivateToken.
  std::span<const int32_t> tokens;
  std::span<const int32_t> positions;  // [tokens], or empty: 0, 1, 2, ...
  int32_t max_new_tokens = 1;          // upper bound on the tokens that it will still generate
  int32_t spare_blocks = 0;            // blocks to leave free, so that running sequences can grow
  // Upper bound on the leading tokens that are reused. All later tokens are computed again, because
  // the caller wants their logits.
  int32_t most_reused_tokens = std::numeric_limits<int32_t>::max();
};

struct Admission {
  bool admitted = false;      // false: there is no room now; the engine asks again in a later step
  int32_t reused_tokens = 0;  // leading tokens that need not be computed; never the last one
};

// The prefixes that admit() is certain to reuse. Engines rely on this and tests check it.
struct ReusePromise {
  bool declared = false;  // kept declared prefixes, except the last token of a prompt
  bool found = false;     // leading tokens that other sequences have computed and that are cached
};

// The part of a step that belongs to one sequence: its tokens [first_token, first_token + rows) are
// the query rows [first_row, first_row + rows).
struct StepSequence {
  RequestId id = 0;
  int32_t first_row = 0;
  int32_t rows = 0;
  int32_t first_token = 0;
  // Positions and tokens of the whole sequence, including those of this step. Some tokens may be
  // kPrivateToken, as in NewSequence.
  std::span<const int32_t> positions;
  std::span<const int32_t> tokens;
  int32_t length = 0;           // the largest position + 1, imported tokens included
  bool is_consecutive = false;  // true: each position is the previous one plus 1
};

using StepBatch = std::span<const StepSequence>;

// Receives a metric's name, value and unit.
using MetricSink = std::function<void(std::string_view, double, std::string_view)>;

// Appends reads that the method does not know about to its plans, such as reads of modules that
// some requests of a batch import.
class PlanContributor {
 public:
  virtual ~PlanContributor() = default;
  // Appends segments and work items after the method's. Must not change rows, row slots, or what
  // the method and other contributors appended.
  virtual void append(StepBatch batch, kv::AttentionPlan& plan) = 0;
  // True if this contributor's segments and work items in the last plan also serve this step, given
  // that the step has the same sequences in the same rows, each one token further.
  [[nodiscard]] virtual bool goes_on(StepBatch /*batch*/) const { return false; }
};

// The memory of a declared prefix, and the number of its users.
struct PrefixUse {
  int32_t blocks = 0;
  int32_t users = 0;  // sequences that begin with it now
};

// Keeps declared prefixes. A cache without this interface finds shared prefixes by itself, or
// shares none.
class PrefixKeeper {
 public:
  virtual ~PrefixKeeper() = default;
  // Declares a prefix with which many requests will begin. The caller computes it as a sequence
  // with this id, admitted and stepped like any other, then calls keep_prefix(id). Throws Error if
  // the cache cannot keep another prefix.
  virtual void declare_prefix(RequestId id, std::span<const int32_t> tokens) = 0;
  // Ends the sequence `id`, which is computed, and keeps its cache as a prefix.
  virtual void keep_prefix(RequestId id, kv::BlockPool& pool) = 0;
  // Forgets the prefix, whether kept yet or not; its sequence must not be running. Blocks that
  // sequences still use stay until the last of these retires.
  virtual void drop_prefix(RequestId id, kv::BlockPool& pool) = 0;
  [[nodiscard]] virtual PrefixUse prefix_use(RequestId id) const = 0;
};

// Reports where states lie in the pool, so that the states of a preempted sequence can be copied
// out and back (swapping). If a cache lacks this interface, preempted sequences are computed again.
class Relocatable {
 public:
  virtual ~Relocatable() = default;
  // Appends to `runs` where the sequence's tokens [first_token, end_token) lie in the pool. All
  // these tokens must have cache. Sets is_computed of runs whose states are known to be computed.
  virtual void locate(RequestId id, int32_t first_token, int32_t end_token,
                      const kv::BlockPool& pool, std::vector<kv::TokenRun>& runs) const = 0;
  // Number of leading tokens that would stay cached if the sequence retired now, because other
  // sequences use them too. admit() reuses these tokens as long as one of these sequences remains.
  [[nodiscard]] virtual int32_t lasting_tokens(RequestId /*id*/) const { return 0; }
  // Called after the states of the sequence's tokens [first_token, end_token) have been written to
  // the places that locate() gave. The sequence was just admitted, and all tokens before
  // first_token are computed.
  virtual void restored(RequestId /*id*/, int32_t /*first_token*/, int32_t /*end_token*/) {}
};

class SequenceCache {
 public:
  virtual ~SequenceCache() = default;
  // Returns the size of a pool that serves `limits` without preemptions. A smaller pool works with
  // preemptions.
  [[nodiscard]] virtual PoolNeed pool_need(const EngineLimits& limits) const = 0;
  [[nodiscard]] virtual ReusePromise promise() const { return {}; }
  // True if states may stay in the cache after their last sequence has ended, so that the same
  // prompt finds them when it is submitted again. Declared prefixes do not count.
  [[nodiscard]] virtual bool retains() const { return false; }
  // Called once per engine, before the first request.
  virtual void tune(const PlanSetting& /*setting*/) {}

  // ---- Optional interfaces; null if the cache lacks one. Every call returns the same object. ----

  [[nodiscard]] virtual PrefixKeeper* prefix_keeper() { return nullptr; }
  [[nodiscard]] virtual Relocatable* relocatable() { return nullptr; }

  // Returns why the cache cannot serve a batch-invariant engine (Context::is_batch_invariant), or
  // "" if it can. In such an engine, one work item must read all keys of a row's sequence for that
  // row, whatever other sequences read.
  [[nodiscard]] virtual std::string why_not_batch_invariant() const { return ""; }

  // ---- Sequences. All calls come from the scheduler's thread. ----

  // Finds or takes cache for the tokens that a sequence has so far. For tokens that it generates
  // later, reserve() takes cache. Throws Error if the id is in use.
  virtual Admission admit(const NewSequence& sequence, kv::BlockPool& pool) = 0;
  // Number of leading tokens that admit() would reuse for the sequence now; 0 if the method does
  // not know. For policies that order the queue by the tokens left to compute.
  [[nodiscard]] virtual int32_t tokens_in_cache(const NewSequence& /*sequence*/) const { return 0; }
  // Ends a sequence, finished or not, and releases every block that no other sequence holds.
  virtual void retire(RequestId id, kv::BlockPool& pool) = 0;
  // Number of blocks with the sequence's tokens, shared ones included.
  [[nodiscard]] virtual int32_t held_blocks(RequestId id) const = 0;

  // ---- Steps ----

  // Rows of a step are sorted by rank; equal ranks stay in the order of admission. A method whose
  // work items need neighbouring rows gives neighbouring ranks to sequences that share a segment.
  [[nodiscard]] virtual int64_t row_rank(RequestId /*id*/) const { return 0; }
  // Returns how many of the first `tokens` tokens of the sequence, counted from its beginning, the
  // next step need not compute: all for a method that keeps the KV states, 0 for one that keeps
  // none.
  [[nodiscard]] virtual int32_t cached_tokens(RequestId id, int32_t tokens) const = 0;
  // Takes cache for the step's rows. Called before each plan, and again for the same rows if a step
  // failed. If it returns false, blocks are missing; the engine then makes sequences release blocks
  // and composes the step anew.
  [[nodiscard]] virtual bool reserve(StepBatch /*batch*/, kv::BlockPool& /*pool*/) { return true; }
  // Returns true if `plan` was the method's last plan and is now updated for this batch, rows
  // included. If it returns false, `plan` may be changed and the caller must build it anew.
  [[nodiscard]] virtual bool advance(StepBatch /*batch*/, const kv::BlockPool& /*pool*/,
                                     kv::AttentionPlan& /*plan*/) {
    return false;
  }
  // Sets the row slots of the step's rows and appends the segments and work items by which these
  // rows read. The rows are already in `plan` with positions and lengths. A row without a slot is
  // not stored. See write_plan().
  virtual void plan(StepBatch batch, const kv::BlockPool& pool, kv::AttentionPlan& plan) = 0;
  // Called when the KV states of the step's rows are in the cache. Not called for a step that
  // failed.
  virtual void computed(StepBatch /*batch*/, kv::BlockPool& /*pool*/) {}

  virtual void report(const MetricSink& sink) const = 0;  // e.g. "reused_tokens", "shared_kv_bytes"
};

}  // namespace reprise::reuse
