// One step of a method over its block pool. The engine runs its plan through a model; experiments
// of kind attention run it through attention kernels alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/kv/block_pool.h"
#include "core/kv/plan.h"
#include "core/reuse/sequence_cache.h"

namespace reprise::engine {

// Token reads from the cache by the work items of a plan.
struct PlanReads {
  // Reads by all work items: the sum over work items of the tokens that at least one of the item's
  // rows sees.
  int64_t tokens = 0;
  // Reads saved because one work item reads a token for several of the counted sequences: the sum
  // over work items of tokens * (counted sequences - 1).
  int64_t spared_tokens = 0;
  // Token reads after the first read of each block of the pool, and of each segment of another
  // cache, in the order of work items. Such a token may still be in the processor's cache.
  int64_t repeated_tokens = 0;
};

// A step is composed (clear, add), arranged, given its cache (reserve) and planned. The caller
// executes the plan and then calls computed(). If the step was not computed, it may be arranged,
// reserved and planned again. The method, the pool and all spans of the parts must outlive the
// step. Its memory is reused from step to step.
class Step {
 public:
  Step(reuse::SequenceCache& method, kv::BlockPool& pool) : method_(method), pool_(pool) {}

  // `contributor` appends to every later plan, after the method.
  void add_contributor(reuse::PlanContributor& contributor) {
    contributors_.push_back(&contributor);
  }

  void clear() { parts_.clear(); }
  // Adds a sequence's part. Its first_row is set by arrange().
  void add(const reuse::StepSequence& part) { parts_.push_back(part); }
  // Orders the parts by the method's row rank; equal ranks stay in the order of add().
  void arrange();
  // Takes cache for the step's rows. Returns false if blocks are missing; the caller then composes
  // a smaller step.
  [[nodiscard]] bool reserve() { return method_.reserve(batch_, pool_); }
  // Returns the finished plan, valid until the next call of plan().
  const kv::AttentionPlan& plan();
  // Counts the plan's reads. Spared and repeated reads count only for sequences with counts[i]
  // true, and count whole segments. Takes O(batch + items * log batch + blocks named by the items),
  // with a sliding window also O(rows of the items).
  //   counts  [batch]
  //   window  ModelConfig::sliding_window
  [[nodiscard]] PlanReads reads(const std::vector<bool>& counts, int64_t window);
  // Records with the method that keys and values of all rows are in the cache.
  void computed() { method_.computed(batch_, pool_); }

  [[nodiscard]] reuse::StepBatch batch() const { return batch_; }
  // [batch]  order()[i]: number of the add() call that added part i of the batch
  [[nodiscard]] std::span<const int32_t> order() const { return order_; }
  [[nodiscard]] int32_t rows() const { return rows_; }

 private:
  [[nodiscard]] int64_t part_of(int32_t row) const;  // index of the part in the batch
  // Returns how many tokens of `item` an earlier work item of the step has already read. Marks the
  // item's blocks as read, or its segment if that lies outside the pool.
  [[nodiscard]] int64_t read_before(const kv::WorkItem& item);

  reuse::SequenceCache& method_;
  kv::BlockPool& pool_;
  std::vector<reuse::PlanContributor*> contributors_;
  std::vector<reuse::StepSequence> parts_, batch_;
  std::vector<int64_t> ranks_;  // [parts]
  std::vector<int32_t> order_;
  int32_t rows_ = 0;
  kv::AttentionPlan plan_;
  // [pool blocks]  value that reads_ had when the block was last read
  std::vector<uint32_t> last_read_;
  uint32_t reads_ = 0;
  std::vector<bool> is_read_;  // [segments]  of segments outside the pool
};

}  // namespace reprise::engine
