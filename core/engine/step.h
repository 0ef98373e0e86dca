// One step of a method over its pool, for whoever executes plans: the engine with a model, the
// attention kind with kernels alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/kv/block_pool.h"
#include "core/kv/plan.h"
#include "core/reuse/reuse_method.h"

namespace reprise::engine {

struct SharedReads {
  // Tokens that some sequences need not read, because an item reads them for several: the sum over
  // items of tokens * (sequences - 1).
  int64_t spared_tokens = 0;
  // Tokens in the pool that items read although another of these items reads them too: a cache may
  // hold them by then. The sum over (item, block) but for the first of each block.
  int64_t repeated_tokens = 0;
};

// A step is composed (clear, add), arranged, given its cache (reserve) and its plan; whoever drives
// it executes the plan and says so (computed). One that was not computed may be arranged, reserved
// and planned again. What it points to outlives it; its memory is kept from step to step.
class Step {
 public:
  Step(reuse::ReuseMethod& method, kv::BlockPool& pool) : method_(method), pool_(pool) {}

  // Appends to every plan from now on, after the method.
  void add_contributor(reuse::PlanContributor& contributor) {
    contributors_.push_back(&contributor);
  }

  void clear() { parts_.clear(); }
  // A sequence's part; its first_row is the step's to choose.
  void add(const reuse::StepSequence& part) { parts_.push_back(part); }
  // Puts the rows in the method's order, those of equal rank in the order of add().
  void arrange();
  // False: blocks are missing; compose a smaller step.
  [[nodiscard]] bool reserve() { return method_.reserve(batch_, pool_); }
  // Finished, and the step's until the next call.
  const kv::AttentionPlan& plan();
  // How the plan reads the cache for the sequences that count.
  //   counts  [batch]  whether a sequence is one of them
  // O(batch + items * log batch + blocks that their items name).
  [[nodiscard]] SharedReads shared_reads(const std::vector<bool>& counts);
  // The keys and values of all rows are in the cache.
  void computed() { method_.computed(batch_, pool_); }

  [[nodiscard]] reuse::StepBatch batch() const { return batch_; }
  // [batch]  which call of add() each part comes from
  [[nodiscard]] std::span<const int32_t> order() const { return order_; }
  [[nodiscard]] int32_t rows() const { return rows_; }

 private:
  [[nodiscard]] int64_t part_of(int32_t row) const;  // index in the batch
  // Of the item's tokens in the pool, those that an item of this count of reads_ named before.
  [[nodiscard]] int64_t read_before(const kv::WorkItem& item);

  reuse::ReuseMethod& method_;
  kv::BlockPool& pool_;
  std::vector<reuse::PlanContributor*> contributors_;
  std::vector<reuse::StepSequence> parts_, batch_;
  std::vector<int64_t> ranks_;  // [parts]
  std::vector<int32_t> order_;
  int32_t rows_ = 0;
  kv::AttentionPlan plan_;
  std::vector<uint32_t> last_read_;  // [pool blocks]  the count of reads_ that last read each
  uint32_t reads_ = 0;
};

}  // namespace reprise::engine
