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
  // Tokens that the plan spares some of its sequences to read, because an item reads them for
  // several of these: the sum over items of tokens * (those of them - 1).
  //   counts  [batch]  whether a sequence is one of them
  // O(batch + items * log batch).
  [[nodiscard]] int64_t shared_tokens(const std::vector<bool>& counts) const;
  // Tokens in the pool that items read for such sequences although another of these items reads
  // them too: a cache may hold them by then. The sum over (item, block) but for the first of each
  // block. O(blocks that the items name).
  [[nodiscard]] int64_t repeated_tokens(const std::vector<bool>& counts);
  // The keys and values of all rows are in the cache.
  void computed() { method_.computed(batch_, pool_); }

  [[nodiscard]] reuse::StepBatch batch() const { return batch_; }
  // [batch]  which call of add() each part comes from
  [[nodiscard]] std::span<const int32_t> order() const { return order_; }
  [[nodiscard]] int32_t rows() const { return rows_; }

 private:
  [[nodiscard]] int64_t part_of(int32_t row) const;  // index in the batch
  // Calls visit(item, readers) for every item that is read for any of the sequences that count.
  template <typename Visit>
  void for_items_read(const std::vector<bool>& counts, Visit visit) const;

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
