// Builds attention plans from a prefix tree and the rows of a step. A callback decides which tree
// nodes are read once for all sequences that share them.
//
// In a plan, shared work items come first, parents before children. Then come the work items that
// each sequence reads alone: one item over everything on its path that is not shared, split at
// gaps, at jumps of its positions and at partitions. Plans are right for any order of the batch;
// nodes are shared between neighbouring sequences of the batch only.
//
// While the tree and the batch have the same sequences and each gains one token per step, the plan
// is advanced in place in O(sequences). Building costs O(rows + items + chunks of the paths); at
// worst O(s^2) for s sequences, if each shares more with the next one than with the one after that.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/kv/plan.h"
#include "core/reuse/prefix_tree.h"
#include "core/reuse/sequence_cache.h"

namespace reprise::reuse {

// A node of the path-compressed tree: consecutive chunks that the same neighbouring sequences of
// the step read as a whole.
struct TreeNode {
  int32_t first_token = 0;
  int32_t tokens = 0;
  int32_t sequences = 0;
  int32_t rows = 0;        // query rows of these sequences
  bool is_pinned = false;  // part of a pinned prefix
  // True if a sequence's own segments must end with the node and begin anew behind it, whether the
  // node is shared or not. This is so if the node's last chunk is partly filled, unless that chunk
  // is the whole node and a segment can begin with it by skipping tokens (kv::Segment::skipped).
  bool cuts_reading = false;
};

// Decides how a node is read. True: the node becomes one work item of all its rows (the chunk-first
// phase of [ChunkAttention §3.2], system attention of [RelayAttention §3.3]). False: each
// sequence reads the node's tokens alone. The result must depend on the node alone, since advancing
// a plan keeps the result and does not ask again. An empty function shares no node.
using ShareDecision = std::function<bool(const TreeNode&)>;

struct TreePlanOptions {
  // Tokens after which a new work item begins; 0: work items are as long as possible. Multiples of
  // chunk_tokens; a partly filled chunk counts as a whole one.
  int32_t shared_partition_tokens = 0;
  int32_t private_partition_tokens = 0;
  kv::Reduction reduction = kv::Reduction::kMerge;
};

// Builds and advances the plans of one tree, as described at the top of this file.
class TreePlanner {
 public:
  TreePlanner(ShareDecision shares, const TreePlanOptions& options)
      : shares_(std::move(shares)), options_(options) {}

  // Advances `plan`, the last one written, to a batch in which each sequence has one more token.
  // Every token of the batch must be in the tree. If it returns false, `plan` may be changed and
  // write() must build it anew.
  [[nodiscard]] bool advance(const PrefixTree& tree, StepBatch batch, const kv::BlockPool& pool,
                             kv::AttentionPlan& plan);
  // Sets the row slots of the batch's rows, which are in `plan` already, and appends segments and
  // work items. A row gets no slot if its token is cached already or if another row of the step
  // writes it.
  void write(const PrefixTree& tree, StepBatch batch, const kv::BlockPool& pool,
             kv::AttentionPlan& plan);

  [[nodiscard]] int64_t plans_built() const { return built_; }
  [[nodiscard]] int64_t plans_advanced() const { return advanced_; }

 private:
  // One sequence of the batch.
  struct Reader {
    const TreeSequence* sequence = nullptr;
    int32_t end_token = 0;  // its rows read only tokens before this one
    // Number of leading chunks of the path that hold tokens before end_token.
    int32_t end_chunk = 0;
    int32_t whole = 0;        // leading chunks that all of its rows read from beginning to end
    int32_t common = 0;       // how many of the `whole` leading chunks the next reader has too
    int32_t next_chunk = 0;   // first chunk of the path that no work item reads yet
    int32_t tail = -1;        // segment to which the next token is appended, or -1
    int32_t tail_blocks = 0;  // number of blocks for which that segment has room
  };
  // Consecutive chunks of a reader's path that it reads alone.
  struct PrivateRun {
    int32_t reader, first_chunk, end_chunk;
  };

  bool advance_rows(const PrefixTree& tree, StepBatch batch, const kv::BlockPool& pool,
                    kv::AttentionPlan& plan);
  void read_batch(const PrefixTree& tree, StepBatch batch);
  void name_slots(const PrefixTree& tree, StepBatch batch, const kv::BlockPool& pool,
                  kv::AttentionPlan& plan);
  void visit(const PrefixTree& tree, StepBatch batch, const kv::BlockPool& pool, int32_t first,
             int32_t end, int32_t depth, kv::AttentionPlan& out);
  void offer(const PrefixTree& tree, StepBatch batch, const kv::BlockPool& pool, int32_t first,
             int32_t end, int32_t first_chunk, int32_t end_chunk, kv::AttentionPlan& out);
  void append_private(const PrefixTree& tree, const StepSequence& part, const kv::BlockPool& pool,
                      const PrivateRun& run, bool is_decode, kv::AttentionPlan& out);

  ShareDecision shares_;
  TreePlanOptions options_;
  std::vector<Reader> readers_;
  std::vector<PrivateRun> private_;
  // Says that in plan number `build`, the tokens of a chunk before `end` are computed already or
  // are written by a row of that plan. Claims of earlier plans are void.
  struct Claim {
    int64_t build = 0;  // built_ + 1 while the plan is written
    int32_t end = 0;
  };
  std::vector<Claim> claims_;  // [chunks]

  // State of the plan written or advanced last.
  uint64_t revision_ = 0, tree_version_ = 0;
  bool is_decode_ = false;  // every sequence has one row
  // [sequences]  index of the token that each sequence must compute in the next step
  std::vector<int32_t> next_tokens_;
  int64_t built_ = 0, advanced_ = 0;
};

}  // namespace reprise::reuse
