// One step of a method over its pool. The engine uses it with a model; experiments of kind
// attention use it with kernels alone.
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
  int64_t tokens = 0;  // reads by all items: the sum of their tokens
  // Reads saved because one item reads a token for several of the counted sequences: the sum over
  // items of tokens * (sequences - 1).
  int64_t spared_tokens = 0;
  // Tokens of the pool that an earlier item has already read (they may still be in a cache): for
  // each block, every read but the first.
  int64_t repeated_tokens = 0;
};

// A step is composed (clear, add), arranged, given its cache (reserve) and planned; the caller
// executes the plan and then calls computed(). A step that was not computed may be arranged,
// reserved and planned again. The method, the pool and all spans of the parts must outlive the
// step. Its memory is reused from step to step.
class Step {
 public:
  Step(reuse::SequenceCache& method, kv::BlockPool& pool) : method_(method), pool_(pool) {}

  // Appends to every later plan, after the method.
  void add_contributor(reuse::PlanContributor& contributor) {
    contributors_.push_back(&contributor);
  }

  void clear() { parts_.clear(); }
  // Adds a sequence's part. Its first_row is set by arrange().
  void add(const reuse::StepSequence& part) { parts_.push_back(part); }
  // Orders the parts by the method's row rank; equal ranks stay in the order of add().
  void arrange();
  // Returns false if blocks are missing; the caller then composes a smaller step.
  [[nodiscard]] bool reserve() { return method_.reserve(batch_, pool_); }
  // Returns the finished plan, valid until the next call.
  const kv::AttentionPlan& plan();
  // Counts the plan's reads. Spared and repeated reads are those of sequences with counts[i] true.
  // Takes O(batch + items * log batch + blocks named by the items).
  //   counts  [batch]
  [[nodiscard]] PlanReads reads(const std::vector<bool>& counts);
  // Tells the method that keys and values of all rows are in the cache.
  void computed() { method_.computed(batch_, pool_); }

  [[nodiscard]] reuse::StepBatch batch() const { return batch_; }
  // [batch]  the number of the add() call from which each part comes
  [[nodiscard]] std::span<const int32_t> order() const { return order_; }
  [[nodiscard]] int32_t rows() const { return rows_; }

 private:
  [[nodiscard]] int64_t part_of(int32_t row) const;  // index of the part in the batch
  // Returns the tokens of this item that an earlier item in the step has already read, and marks
  // its blocks as read. Blocks outside the pool are not counted.
  [[nodiscard]] int64_t read_before(const kv::WorkItem& item);

  reuse::SequenceCache& method_;
  kv::BlockPool& pool_;
  std::vector<reuse::PlanContributor*> contributors_;
  std::vector<reuse::StepSequence> parts_, batch_;
  std::vector<int64_t> ranks_;  // [parts]
  std::vector<int32_t> order_;
  int32_t rows_ = 0;
  kv::AttentionPlan plan_;
  // [pool blocks]  value of reads_ when each block was last read.
  std::vector<uint32_t> last_read_;
  uint32_t reads_ = 0;
};

}  // namespace reprise::engine
