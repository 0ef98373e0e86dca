// From a prefix tree and the rows of a step to an attention plan, with one decision left open:
// which nodes are read once for all the sequences that share them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/kv/plan.h"
#include "core/reuse/prefix_tree.h"
#include "core/reuse/reuse_method.h"

namespace reprise::reuse {

// Chunks that follow one another and that the same neighbouring sequences of the step read whole: a
// node of the path-compressed tree.
struct TreeNode {
  int32_t first_token = 0;
  int32_t tokens = 0;
  int32_t sequences = 0;
  int32_t rows = 0;        // query rows of these sequences
  bool is_pinned = false;  // of a pinned prefix
  // What its sequences read alone would end with it and begin anew, shared or not: its last chunk
  // is partly filled.
  bool cuts_reading = false;
};

// True: the node is one work item of all its rows (the chunk-first phase, [ChunkAttention §3.2];
// system attention, [RelayAttention §3.3]). False: its tokens join what each sequence reads alone.
// The answer may depend on the node only, since an advanced plan keeps it.
using ShareDecision = std::function<bool(const TreeNode&)>;

struct TreePlanOptions {
  // Tokens after which an item ends and the next begins; 0: items are as long as they can be.
  // Multiples of chunk_tokens; a partly filled chunk counts as a whole one.
  int32_t shared_partition_tokens = 0;
  int32_t private_partition_tokens = 0;
};

// Writes plans for one tree. Shared items come first, parents before children, then what each
// sequence reads alone: one item over everything on its path that is not shared, or as many as the
// gaps in it, in its positions and the partitions make. Plans are right for any order of the batch;
// nodes are shared between neighbours in it.
//
// Between steps in which every sequence of an unchanged tree and batch gains one token, the plan is
// advanced in place: O(sequences), no search. Building costs O(rows + items + chunks of the paths)
// and for s sequences at most O(s^2) where each shares more with the next than with the one after.
class TreePlanner {
 public:
  TreePlanner(ShareDecision shares, const TreePlanOptions& options)
      : shares_(std::move(shares)), options_(options) {}

  // Brings `plan`, the latest one written, to a batch in which each sequence has one token more.
  // False: it has to be written, whatever this left in it. Every token of the batch is in the tree.
  [[nodiscard]] bool advance(const PrefixTree& tree, StepBatch batch, const kv::BlockPool& pool,
                             kv::AttentionPlan& plan);
  // Names the slots of the batch's rows, which `plan` begins with, and appends segments and items.
  // A row whose token is in memory already, or which another row of the step writes, is a duplicate
  // and is not stored.
  void write(const PrefixTree& tree, StepBatch batch, const kv::BlockPool& pool,
             kv::AttentionPlan& plan);

  [[nodiscard]] int64_t plans_built() const { return built_; }
  [[nodiscard]] int64_t plans_advanced() const { return advanced_; }

 private:
  // Of a sequence of the batch.
  struct Reader {
    const TreeSequence* sequence = nullptr;
    int32_t end_token = 0;    // its rows read tokens below it
    int32_t end_chunk = 0;    // of the path: chunks that have such tokens
    int32_t whole = 0;        // leading chunks that each of its rows reads whole
    int32_t common = 0;       // of those, shared with the next reader
    int32_t next_chunk = 0;   // first chunk of the path that no item reads yet
    int32_t tail = -1;        // segment that the next token extends, or -1
    int32_t tail_blocks = 0;  // that the segment has place for
  };
  // A run of a reader's path that it reads alone.
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
  // Leading tokens of a chunk, below `end`, that are computed already or written by rows of the
  // plan with this number; those of an earlier plan count no more.
  struct Claim {
    int64_t build = 0;  // built_ of that plan
    int32_t end = 0;
  };
  std::vector<Claim> claims_;  // [chunks]

  // Of the latest plan.
  uint64_t revision_ = 0, tree_version_ = 0;
  bool is_decode_ = false;            // one row for each sequence
  std::vector<int32_t> next_tokens_;  // [sequences]
  int64_t built_ = 0, advanced_ = 0;
};

}  // namespace reprise::reuse
